/**
 * `reveille serve`: runs the server or, with `--only media`, the media process of a server on another machine. Only the log goes
 * to standard output. Source: running.md, Stopping, Settings, and Processes and listeners.
 */
import { Option, type Command } from 'commander';
import { newCommand, type CommandContext, inLocalContext } from '../shell/command-context.ts';
import { usageError } from '../shell/command-error.ts';
import { beginServing, checkMediaFiles, refuseStart, serveElsewhere } from './serving-end.ts';
import { coreFlag } from './serve-flags.ts';
import { readLinkKey } from '../../lib/link/link-key.ts';
import { mediaProcessSettings } from '../../server/config/derived-settings.ts';
import { formatListenAddress } from '../../lib/connections/listen-address.ts';

export function addServeCommand(program: Command): void {
  newCommand(
    program,
    'serve',
    'Run the server. It logs to standard output: text on a terminal, else one JSON object per line.',
    ['', 'with nothing configured, the first start creates a demo application and two devices'],
    ['--edges 2', 'a crash of the core disconnects no sleeping device'],
    ['--edges 2 --fronts 2', 'and two threads receive and check the requests of backends'],
    ['--set sleep.listen=0.0.0.0:8081 --set api.listen=127.0.0.1:0', 'port 0 means any free port'],
    [
      '--only media --set media.link_server=10.0.0.5:8085 --set media.link_key_file=link.key',
      'its server has media.process elsewhere and the same key',
    ],
  )
    .addOption(
      new Option('--only <part>', 'run only the media process, for a server on another machine').choices([
        'media',
      ]),
    )
    .option('--edges <n>', 'number of processes that hold the sleep connections: sleep.edges')
    .option('--fronts <n>', 'number of threads that receive and check requests of backends: api.fronts')
    .option('--demo', 'create a demo application with devices and a credential, if the store is empty')
    .addOption(new Option('--processes <n>', 'an option of earlier releases').hideHelp())
    .addOption(new Option(coreFlag, 'run the core of a server that has edges').hideHelp())
    .action(inLocalContext(serveAs));
}

interface ServeOptions {
  readonly only?: 'media';
  readonly processes?: string;
  readonly edges?: string;
  readonly fronts?: string;
  readonly demo?: boolean;
  readonly core?: boolean;
}

/** Loads only the module that runs, so that a supervisor stays small. */
async function serveAs(
  context: CommandContext,
  { edges, fronts, processes, ...options }: ServeOptions,
): Promise<void> {
  if (processes !== undefined)
    throw usageError(
      '--processes was removed: use --edges N for N processes that hold the sleep connections, --fronts N for N threads that receive the requests of backends',
    );
  if (edges !== undefined && options.only === 'media')
    throw usageError('serve --only media has no sleep connections: omit --edges');
  if (fronts !== undefined && options.only === 'media')
    throw usageError('serve --only media has no API: omit --fronts');
  const counts = {
    ...(edges !== undefined && { 'sleep.edges': edges }),
    ...(fronts !== undefined && { 'api.fronts': fronts }),
  };
  return serve(Object.keys(counts).length === 0 ? context : context.with(counts), options);
}

async function serve(
  context: CommandContext,
  { only, demo = false, core }: Omit<ServeOptions, 'edges' | 'fronts' | 'processes'>,
): Promise<void> {
  if (core === true) return (await import('./serve-core.ts')).serveCore(context, demo);
  if (only === 'media') return serveMedia(context);
  if (context.settings.sleep.edges > 0) return (await import('./serve-edges.ts')).serveEdges(context);
  return (await import('./serve-alone.ts')).serveAlone(context, demo);
}

async function serveMedia({ settings, clock }: CommandContext): Promise<void> {
  const { link_server: server, link_key_file: keyFile } = settings.media;
  if (server === null || keyFile === null)
    throw usageError(
      'serve --only media needs media.link_server, the address of its server, and media.link_key_file',
    );
  const serving = beginServing(settings);
  const { log, announce, flushNow } = serving;
  const die = (sentence: string): void => {
    log.error({}, sentence);
    flushNow();
    process.kill(process.pid, 'SIGKILL');
  };
  checkMediaFiles(settings);
  const { RemoteMedia } = await import('../../media/process/remote-media.ts');
  const { TranscoderPool } = await import('../../media/transcoding/transcoder-pool.ts');
  const key = await readLinkKey(keyFile, 'media.link_key_file').catch(refuseStart);
  const media = new RemoteMedia(mediaProcessSettings(settings), {
    clock,
    log,
    server,
    key,
    newTranscoders: ({ workers: threads, ...limits }) =>
      new TranscoderPool({ ...limits, threads, clock, log, onWedged: die }),
    onListening: (address) => announce({ listeners: { media: formatListenAddress(address) } }, 'ready'),
  });
  await serveElsewhere(serving, media);
}
