/** A real server process, for what only a process can show: a crash, its own descriptors, its own loop. */
import { LongCommand } from './cli-process.ts';
import type { Ending } from './temporary-store.ts';

export interface ServerProcess {
  readonly command: LongCommand;
  readonly ports: Readonly<Record<'api' | 'sleep' | 'ops', number>>;
}

/** Resolves when it says `ready`; rejects, with what it said, when it ends before. `overrides`: `section.key=value`. */
export async function startServerProcess(t: Ending, overrides: readonly string[]): Promise<ServerProcess> {
  const listens = ['api', 'sleep', 'ops'].map((name) => `${name}.listen=127.0.0.1:0`);
  const flags = [...listens, ...overrides].flatMap((override) => ['--set', override]);
  const command = new LongCommand(t, ['serve', ...flags]);
  const ready = await command.line((line) => line.includes('"msg":"ready"'));
  const { listeners } = JSON.parse(ready) as { listeners: Record<string, string> };
  const port = (name: string): number => Number(listeners[name]?.split(':').at(-1));
  return { command, ports: { api: port('api'), sleep: port('sleep'), ops: port('ops') } };
}
