/** A real server process, for what only a process can show: a crash, its own descriptors, its own loop. */
import { LongCommand } from './cli-process.ts';
import type { Ending } from './temporary-store.ts';

const listenerNames = ['api', 'sleep', 'signal', 'media', 'ops'] as const;
type ListenerName = (typeof listenerNames)[number];

export interface ServerProcess {
  readonly command: LongCommand;
  readonly ports: Readonly<Record<ListenerName, number>>;
}

/** Resolves when it says `ready`; rejects, with what it said, when it ends before. `overrides`: `section.key=value`. */
export async function startServerProcess(t: Ending, overrides: readonly string[]): Promise<ServerProcess> {
  const command = new LongCommand(t, serveArguments(overrides));
  const ready = await command.line((line) => line.includes('"msg":"ready"'));
  const { listeners } = JSON.parse(ready) as { listeners: Record<string, string> };
  const port = (name: string): number => Number(listeners[name]?.split(':').at(-1));
  const ports = Object.fromEntries(listenerNames.map((name) => [name, port(name)])) as ServerProcess['ports'];
  return { command, ports };
}

/** Of `reveille`: a server on free ports. */
export function serveArguments(overrides: readonly string[]): string[] {
  const listens = listenerNames.map((name) => `${name}.listen=127.0.0.1:0`);
  return ['serve', ...[...listens, ...overrides].flatMap((override) => ['--set', override])];
}
