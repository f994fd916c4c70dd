/**
 * `reveille serve`: the server as a process, or with `--only media` the media process of a server on another machine.
 * Standard output has the log only. Source: running.md, Stopping, Settings, and Processes and
 * listeners.
 */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { processesMax } from '../../model/limits.ts';
import { openLog } from '../../server/bootstrap/logging.ts';
import { examples, type CommandContext, inLocalContext } from '../shell/command-context.ts';
import { usageError } from '../shell/command-error.ts';
import { checkMediaFiles, dieOfTheUnexpected, onHangup, refuseStart, stopSignal } from './serving-end.ts';
import { serveAlone, successorFlag } from './serve-alone.ts';
import { serveProcesses, supervisedFlag } from './serve-processes.ts';
import { serveSupervised } from './serve-supervised.ts';
import { readLinkKey } from '../../lib/link/link-key.ts';
import { mediaProcessSettings } from '../../server/config/derived-settings.ts';
import { formatListenAddress } from '../../lib/connections/listen-address.ts';

export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description(
      'Run the server. Its log is on standard output: text on a terminal, else one JSON object a line.',
    )
    .addOption(
      new Option('--only <part>', 'the media process only, for a server elsewhere').choices(['media']),
    )
    .option(
      '--processes <n>',
      'this many workers behind the same ports, and a coordinator, as one server',
      parseProcesses,
    )
    .option('--demo', 'make a demo application with devices and a credential, if the store is empty')
    .addOption(new Option(supervisedFlag, 'one of them').hideHelp())
    .addOption(new Option(successorFlag, 'the new process of an upgrade').hideHelp())
    .addHelpText(
      'after',
      examples(
        ['serve', 'with nothing configured, the first start makes a demo application and two devices'],
        ['serve --set sleep.listen=0.0.0.0:8081 --set api.listen=127.0.0.1:0', 'port 0 is a free one'],
        [
          'serve --only media --set media.link_server=10.0.0.5:8085 --set media.link_key_file=link.key',
          'its server has media.process elsewhere, and the same key',
        ],
      ),
    )
    .action(inLocalContext(serveAs));
}

function parseProcesses(text: string): number {
  const processes = Number(text);
  if (/^\d+$/.test(text) && processes >= 1 && processes <= processesMax) return processes;
  throw new InvalidArgumentError(`A number of processes is 1-${processesMax}.`);
}

interface ServeOptions {
  readonly only?: 'media';
  readonly processes?: number;
  readonly demo?: boolean;
  readonly supervised?: boolean;
  readonly successor?: boolean;
}

async function serveAs(
  context: CommandContext,
  { only, processes, demo = false, supervised, successor }: ServeOptions,
): Promise<void> {
  if (supervised === true) return serveSupervised(context);
  if (only === 'media') return serveMedia(context);
  const { processes: set, nats_url: natsUrl } = context.settings.cluster;
  if (processes !== undefined && natsUrl !== null)
    throw usageError(
      'processes share the store of one machine and nodes share none: not with cluster.nats_url',
    );
  if (processes === undefined && set === 1) return serveAlone(context, successor === true, demo);
  return serveProcesses(context, processes ?? set, demo);
}

async function serveMedia({ settings, clock }: CommandContext): Promise<void> {
  const { link_server: server, link_key_file: keyFile } = settings.media;
  if (server === null || keyFile === null)
    throw usageError(
      'serve --only media needs media.link_server, where its server waits, and media.link_key_file',
    );
  const logging = openLog(settings.log);
  const { log } = logging;
  dieOfTheUnexpected(logging);
  const die = (sentence: string): void => {
    log.error({}, sentence);
    logging.flushNow();
    process.kill(process.pid, 'SIGKILL');
  };
  const stopping = stopSignal(clock);
  checkMediaFiles(settings);
  const { RemoteMedia } = await import('../../media/process/remote-media.ts');
  const { TranscoderPool } = await import('../../media/transcoding/transcoder-pool.ts');
  const key = await readLinkKey(keyFile, 'media.link_key_file').catch(refuseStart);
  const media = new RemoteMedia(mediaProcessSettings(settings), {
    clock,
    log,
    server,
    key,
    openTranscoders: ({ workers: threads, ...limits }) =>
      TranscoderPool.open({ ...limits, threads, clock, log, onWedged: die }),
    onListening: (address) =>
      logging.announce({ listeners: { media: formatListenAddress(address) } }, 'ready'),
  });
  void stopping.then((signal) => {
    log.info({ signal }, 'stopping');
    media.stop();
  });
  onHangup(() => media.reloadTls());
  await media.run().catch(refuseStart);
  log.info({}, 'stopped');
  await logging.close();
  process.exit(0);
}
