/** Starts a real server process, for tests of crashes, file descriptors and the event loop. */
import { listenerNames, type ListenerName } from '../../src/server/config/settings-schema.ts';
import { LongCommand, type Launch } from './cli-process.ts';
import type { Ending } from './temporary-store.ts';

export interface ServerProcess {
  readonly command: LongCommand;
  readonly ports: ListenerPorts;
}

export type ListenerPorts = Readonly<Record<ListenerName, number>>;

/** Settings that give every listener a free port, each `section.key=value`. */
export const freeListens: readonly string[] = listenerNames.map((name) => `${name}.listen=127.0.0.1:0`);

/** Resolves when the log has `ready`; rejects with the log when the process exits before. `overrides`: each `section.key=value`. */
export async function startServerProcess(
  t: Ending,
  overrides: readonly string[],
  env: NodeJS.ProcessEnv = {},
  options: readonly string[] = [],
  launch: Launch = {},
): Promise<ServerProcess> {
  const command = new LongCommand(t, [...serveArguments(overrides), ...options], env, launch);
  const ready = await command.line((line) => line.includes('"msg":"ready"'));
  const { listeners } = JSON.parse(ready) as { listeners: ListenerAddresses };
  return { command, ports: portsOf(listeners) };
}

type ListenerAddresses = Readonly<Partial<Record<ListenerName, string>>>;

export function portsOf(listeners: ListenerAddresses): ListenerPorts {
  const port = (name: ListenerName): number => Number(listeners[name]?.split(':').at(-1));
  return Object.fromEntries(listenerNames.map((name) => [name, port(name)])) as ListenerPorts;
}

/** Settings of a server that carries media. */
export const withMedia: readonly string[] = ['media.process=child'];

/** Arguments of `reveille` for a server on free ports, by default without media and without verification threads. */
export function serveArguments(overrides: readonly string[]): string[] {
  const settings = [...freeListens, 'media.process=none', 'auth.verification=inline', ...overrides];
  return ['serve', ...settingArguments(settings)];
}

/** Arguments of any command of `reveille`. `settings`: each `section.key=value`. */
export function settingArguments(settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ['--set', setting]);
}

/** The server's media process number `which`, from 1, in the log. */
export interface MediaChild {
  readonly pid: number;
  readonly start_ms: number;
}

export function mediaChild({ command }: ServerProcess, which = 1): Promise<MediaChild> {
  return command.logged<MediaChild>('media process: started', which);
}
