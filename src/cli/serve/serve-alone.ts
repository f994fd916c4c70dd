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
  const early = Array.from({ length: place === 'child' ? processes : 0 }, () => startMediaChild(settings));
  const startMedia = (): MediaCarrier => early.shift() ?? startMediaChild(settings);
  const abandon = (error: unknown): never => {
    for (const media of early) media.kill();
    throw error;
  };
  const checking = checkStart(context);
  // Lazy: the other commands run without the HTTP front end's binary. It loads while a process checks the store.
  const loading = import('../../server/bootstrap/server.ts');
  loading.catch(() => undefined);
  await checking.catch(abandon);
  const { firstStartNotice, seedFirstStart } = await import('./first-start.ts');
  const secrets = await seedFirstStart(context, isDemoAsked, log).catch(abandon);
  const { startServer } = await loading.catch(abandon);
  const deps = { configured, clock, log, announce, startMedia };
  const server = await startServer(settings, deps).catch(abandon).catch(refuseStart);
  const { listeners } = server;
  announce({ listeners, fronts: frontCount(settings) }, 'ready');
  announceConsole(serving, listeners, settings);
  if (secrets !== null) process.stderr.write(firstStartNotice(secrets, dataDirectory, consoleUrl(listeners)));
  onHangup(() => void server.reload());
  process.on('SIGUSR2', () => void server.signalUpgrade());
  await serveUntilStopped(serving, () => server.stop());
}
