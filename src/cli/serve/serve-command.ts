/**
 * `reveille serve`: the server as a process. Standard output has the log only, one JSON object a line.
 * Source: running.md, Stopping and Settings.
 */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { processesMax } from '../../model/limits.ts';
import { openLog, type Logging } from '../../server/bootstrap/logging.ts';
import type { RunningServer } from '../../server/bootstrap/server.ts';
import { addExamples, contextOf, type CommandContext } from '../shell/command-context.ts';
import { usageError } from '../shell/command-error.ts';
import { demoNotice } from './demo-notice.ts';
import { serveMedia } from './serve-media.ts';
import { serveProcesses, supervisedFlag } from './serve-processes.ts';
import { serveSupervised } from './serve-supervised.ts';
import { dieOfTheUnexpected, refuseStart, stopSignal } from './serving-end.ts';

export function addServeCommand(program: Command): void {
  const command = program
    .command('serve')
    .description('Run the server. Its log is on standard output, one JSON object a line.')
    .addOption(
      new Option('--only <part>', 'one part of it: the media process, for a server elsewhere').choices([
        'media',
      ]),
    )
    .option(
      '--processes <n>',
      'so many processes behind the same ports, as one server; another one does what there is one of',
      parseProcesses,
    )
    .addOption(new Option(supervisedFlag, 'one of them').hideHelp())
    .action((options: ServeOptions, self: Command) => serveAs(options, contextOf(self)));
  addExamples(
    command,
    ['serve', 'with embedded defaults; the first start makes a demo application and two devices'],
    ['serve --config production.json', 'with a settings file'],
    [
      'serve --set sleep.listen=0.0.0.0:8081 --set api.listen=127.0.0.1:0',
      'one setting over all; port 0 is a free one',
    ],
    [
      'serve --processes 4',
      'four processes share the ports and the data directory; for more cores and sockets',
    ],
    [
      'serve --only media --set media.link_server=10.0.0.5:8085 --set media.link_key_file=link.key',
      'media on a machine of its own; its server has media.process elsewhere, and the same key',
    ],
  );
}

function parseProcesses(text: string): number {
  const processes = Number(text);
  if (/^\d+$/.test(text) && processes >= 1 && processes <= processesMax) return processes;
  throw new InvalidArgumentError(`A number of processes is 1-${processesMax}.`);
}

interface ServeOptions {
  readonly only?: 'media';
  readonly processes?: number;
  readonly supervised?: boolean;
}

async function serveAs(
  { only, processes, supervised }: ServeOptions,
  context: CommandContext,
): Promise<void> {
  if (supervised === true) return serveSupervised(context);
  if (only === 'media') return serveMedia(context);
  const { processes: set, nats_url: natsUrl } = context.settings.cluster;
  if (processes !== undefined && natsUrl !== null)
    throw usageError(
      'processes share the store of one machine and nodes share none: not with cluster.nats_url',
    );
  if (processes === undefined && set === 1) return serve(context);
  return serveProcesses(context, processes ?? set);
}

async function serve(context: CommandContext): Promise<void> {
  const { settings, clock } = context;
  const logging = openLog(settings.log.level);
  dieOfTheUnexpected(logging);
  const stopping = stopSignal();
  // Loaded only here: the other commands run without the front end's binary.
  const { startServer } = await import('../../server/bootstrap/server.ts');
  const server = await startServer(settings, {
    clock,
    log: logging.log,
    announce: logging.announce,
  }).catch(refuseStart);
  logging.announce({ listeners: server.listeners }, 'ready');
  if (server.demo !== null) process.stderr.write(demoNotice(server.demo, context.dataDirectory));
  const reload = (): void => void server.reload();
  process.on('SIGHUP', reload);
  // Without a listener it would end the process, and with it every session.
  process.on('SIGUSR2', () =>
    logging.log.warn(
      {},
      'SIGUSR2 restarts workers one after another: this server has none (serve --processes)',
    ),
  );
  const signal = await stopping;
  await stop(server, logging, signal);
  process.off('SIGHUP', reload);
}

async function stop(server: RunningServer, logging: Logging, signal: string): Promise<void> {
  logging.log.info({ signal }, 'stopping');
  await server.stop();
  await logging.close();
  process.exit(0);
}
