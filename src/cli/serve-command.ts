/**
 * `reveille serve`: the server as a process. Standard output has the log, one JSON object a line, and nothing
 * else. Source: running.md, Stopping and Settings.
 */
import type { Command } from 'commander';
import { constants } from 'node:os';
import type { DemoRegistry } from '../server/demo-seed.ts';
import { openLog, type Logging } from '../server/logging.ts';
import type { RunningServer } from '../server/server.ts';
import { addExamples, contextOf, type CommandContext } from './command-context.ts';
import { CommandError } from './command-error.ts';
import { reveilleCommand } from './invocation.ts';

export function addServeCommand(program: Command): void {
  const command = program
    .command('serve')
    .description('Run the server. Its log is on standard output, one JSON object a line.')
    .action((_options: object, self: Command) => serve(contextOf(self)));
  addExamples(
    command,
    ['serve', 'with embedded defaults; the first start makes a demo application and two devices'],
    ['serve --config production.json', 'with a settings file'],
    [
      'serve --set sleep.listen=0.0.0.0:8081 --set api.listen=127.0.0.1:0',
      'one setting over all; port 0 is a free one',
    ],
  );
}

async function serve(context: CommandContext): Promise<void> {
  const { settings, clock } = context;
  const logging = openLog(settings.log.level);
  dieOfTheUnexpected(logging);
  const stopping = stopSignal();
  // Loaded only here: the other commands run without the front end's binary.
  const { startServer } = await import('../server/server.ts');
  const server = await startServer(settings, { clock, log: logging.log }).catch(refuseStart);
  logging.announce({ listeners: server.listeners }, 'ready');
  if (server.demo !== null) process.stderr.write(demoNotice(server.demo, context.dataDirectory));
  const reload = (): void => void server.reload();
  process.on('SIGHUP', reload);
  const signal = await stopping;
  await stop(server, logging, signal);
  process.off('SIGHUP', reload);
}

/** What keeps a server from starting is said in a sentence; a mistake of ours keeps its stack. */
function refuseStart(error: unknown): never {
  if (!(error instanceof Error) || error.name !== 'Error' || error.message.startsWith('invariant'))
    throw error;
  throw new CommandError(error.message, `look this machine over: ${reveilleCommand('doctor')}`);
}

async function stop(server: RunningServer, logging: Logging, signal: string): Promise<void> {
  logging.log.info({ signal }, 'stopping');
  await server.stop();
  await logging.close();
  process.exit(0);
}

/** Resolves on the first SIGTERM or SIGINT, also while the server starts; the second one ends the process at once. */
function stopSignal(): Promise<'SIGTERM' | 'SIGINT'> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: 'SIGTERM' | 'SIGINT'): void => {
      if (asked) process.exit(128 + constants.signals[signal]);
      asked = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/** Nobody knows what state the process is in: it says so and goes, and the store is as it was committed. */
function dieOfTheUnexpected(logging: Logging): void {
  const die = (error: unknown): void => {
    logging.log.error({ err: error }, 'fatal: unexpected error');
    logging.flushNow();
    process.exit(1);
  };
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}

/** Shown once, to people: where the log goes, no secret may. */
function demoNotice({ credential, devices }: DemoRegistry, dataDirectory: string): string {
  const device = devices[0]?.deviceId ?? 'DEVICE';
  return `
A first start with nothing configured: here is a demo application to play with. Its secrets are shown once.

  application    ${credential.appId}
  access key id  ${credential.accessKeyId}
  secret key     ${credential.secretKey}
${devices.map(({ deviceId, secret }) => `  device         ${deviceId}  secret ${secret}`).join('\n')}

They are kept in ${dataDirectory}. Next, in a second terminal, let the devices live: they sign in, and sleep:
  ${reveilleCommand(`simulate --devices ${devices.length}`)}
and in a third one, wake one of them, and see what happened to it:
  ${reveilleCommand(`wake ${device} --wait`)}
  ${reveilleCommand(`status ${device}`)}

`;
}
