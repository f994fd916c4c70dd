/** A real server process, for what only a process can show: a crash, its own descriptors, its own loop. */
import { listenerNames, type ListenerName } from '../../src/server/config/settings-schema.ts';
import { LongCommand, type Launch } from './cli-process.ts';
import type { Ending } from './temporary-store.ts';

export interface ServerProcess {
  readonly command: LongCommand;
  readonly ports: ListenerPorts;
}

export type ListenerPorts = Readonly<Record<ListenerName, number>>;

/** `section.key=value` each: every listener on a free port. */
export const freeListens: readonly string[] = listenerNames.map((name) => `${name}.listen=127.0.0.1:0`);

/** Resolves when it says `ready`; rejects, with what it said, when it ends before. `overrides`: `section.key=value`. */
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

/** For a server that is to carry media. */
export const withMedia: readonly string[] = ['media.process=child'];

/** Of `reveille`: a server on free ports that carries no media, and has no threads that verify, unless it is asked to. */
export function serveArguments(overrides: readonly string[]): string[] {
  const settings = [...freeListens, 'media.process=none', 'auth.verification=inline', ...overrides];
  return ['serve', ...settingArguments(settings)];
}

/** Of any command of `reveille`: `settings` are `section.key=value` each. */
export function settingArguments(settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ['--set', setting]);
}

/** The media process that is its child: the `which`th, from 1, by its log. */
export interface MediaChild {
  readonly pid: number;
  readonly start_ms: number;
}

export function mediaChild({ command }: ServerProcess, which = 1): Promise<MediaChild> {
  return command.logged<MediaChild>('media process: started', which);
}
