/**
 * `reveille serve --edges N`: the supervisor of a core and N edges. It handles the signals and opens neither a store nor a
 * socket. Source: scale-out.md, Edges; running.md, Stopping.
 */
import { openLog } from '../../server/bootstrap/logging.ts';
import { SiteSupervisor } from '../../server/site/site-supervisor.ts';
import { withRealPorts } from '../../server/config/real-ports.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { coreFlag } from './serve-flags.ts';
import { checkStart, exitOnUnexpectedErrors, onHangup, refuseStart, stopSignal } from './serving-end.ts';

export async function serveEdges(context: CommandContext): Promise<void> {
  const { settings, clock, dataDirectory } = context;
  const logging = openLog(settings.log, undefined, true);
  const { log } = logging;
  exitOnUnexpectedErrors(logging);
  const stopping = stopSignal();
  await checkStart(context);
  const site = new SiteSupervisor(await withRealPorts(settings).catch(refuseStart), {
    clock,
    log,
    dataDirectory,
    coreArguments: [process.argv[1] ?? '', ...process.argv.slice(2), coreFlag],
  });
  process.once('exit', () => site.close());
  onHangup(() => site.orderCore({ kind: 'reload' }));
  process.on('SIGUSR2', () => site.orderCore({ kind: 'upgrade' }));
  const starting = site.start();
  await Promise.race([stopping, starting]).catch(refuseStart);
  starting.catch(() => undefined);
  const signal = await stopping;
  log.info({ signal }, 'stopping');
  await site.stop();
  await logging.close();
  process.exit(0);
}
