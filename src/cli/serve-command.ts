/**
 * `reveille serve`: the server as a process. Standard output has the log, one JSON object a line, and nothing
 * else. Source: running.md, Stopping and Settings.
 */
import { Option, type Command } from 'commander';
import type { DemoRegistry } from '../server/demo-seed.ts';
import { openLog, type Logging } from '../server/logging.ts';
import type { RunningServer } from '../server/server.ts';
import { addExamples, contextOf, type CommandContext } from './command-context.ts';
import { reveilleCommand } from './invocation.ts';
import { serveMedia } from './serve-media.ts';
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
    .action(({ only }: { only?: 'media' }, self: Command) =>
      only === 'media' ? serveMedia(contextOf(self)) : serve(contextOf(self)),
    );
  addExamples(
    command,
    ['serve', 'with embedded defaults; the first start makes a demo application and two devices'],
    ['serve --config production.json', 'with a settings file'],
    [
      'serve --set sleep.listen=0.0.0.0:8081 --set api.listen=127.0.0.1:0',
      'one setting over all; port 0 is a free one',
    ],
    [
      'serve --only media --set media.link_server=10.0.0.5:8085 --set media.link_key_file=link.key',
      'media on a machine of its own; its server has media.process elsewhere, and the same key',
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

async function stop(server: RunningServer, logging: Logging, signal: string): Promise<void> {
  logging.log.info({ signal }, 'stopping');
  await server.stop();
  await logging.close();
  process.exit(0);
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
