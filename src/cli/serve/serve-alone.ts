/** `reveille serve` as a single process, which also holds the sleep connections. Source: running.md, Stopping. */
import { startMediaChild, type MediaCarrier } from '../../server/children/media-child.ts';
import { frontCount } from '../../server/config/derived-settings.ts';
import type { CommandContext } from '../shell/command-context.ts';
import {
  announceConsole,
  beginServing,
  checkStart,
  consoleUrl,
  onHangup,
  refuseStart,
  serveUntilStopped,
} from './serving-end.ts';

/** `isDemoAsked`: an empty store gets demo entries. Never resolves: the process exits. */
export async function serveAlone(context: CommandContext, isDemoAsked: boolean): Promise<void> {
  const { settings, configured, clock, dataDirectory } = context;
  const serving = beginServing(settings);
  const { log, announce } = serving;
  // The media processes load while this one does; they take the longest.
  const { process: place, processes } = settings.media;
  const early = Array.from({ length: place === 'child' ? processes : 0 }, startMediaChild);
  const startMedia = (): MediaCarrier => early.shift() ?? startMediaChild();
  const start = async () => {
    const checking = checkStart(context);
    // Lazy: the other commands run without the HTTP front end's binary. It loads while a process checks the store.
    const loading = import('../../server/bootstrap/server.ts');
    loading.catch(() => undefined);
    await checking;
    const { firstStartNotice, seedFirstStart } = await import('./first-start.ts');
    const secrets = await seedFirstStart(context, isDemoAsked, log);
    const { startServer } = await loading;
    const deps = { configured, clock, log, announce, startMedia };
    const server = await startServer(settings, deps).catch(refuseStart);
    return {
      server,
      notice:
        secrets === null ? null : firstStartNotice(secrets, dataDirectory, consoleUrl(server.listeners)),
    };
  };
  const { server, notice } = await start().catch((error: unknown) => {
    // They would keep this process alive.
    for (const media of early) media.kill();
    throw error;
  });
  const { listeners } = server;
  announce({ listeners, fronts: frontCount(settings) }, 'ready');
  announceConsole(serving, listeners, settings);
  if (notice !== null) process.stderr.write(notice);
  onHangup(() => void server.reload());
  process.on('SIGUSR2', () => void server.signalUpgrade());
  await serveUntilStopped(serving, () => server.stop());
}
