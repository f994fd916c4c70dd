/**
 * `reveille serve --edges N`: the supervisor of a core and N edges. It handles the signals and opens neither a store nor a
 * socket. Source: scale-out.md, Edges; running.md, Stopping.
 */
import { SiteSupervisor } from '../../server/site/site-supervisor.ts';
import { withRealPorts } from '../../server/config/real-ports.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { beginServing, checkStart, onHangup, refuseStart, serveUntilStopped } from './serving-end.ts';
import { coreFlag } from './serve-flags.ts';

export async function serveEdges(context: CommandContext): Promise<void> {
  const { settings, clock, dataDirectory } = context;
  const serving = beginServing(settings, true);
  const { log, stopping } = serving;
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
  await serveUntilStopped(serving, () => site.stop());
}
