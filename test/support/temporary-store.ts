/** A real LMDB store in a temporary directory, removed when the test ends. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, type Store } from '../../src/storage/lmdb/open-store.ts';

/** Registers cleanup for the end of a test or file: a test's context, or `{ after }` of node:test. */
export interface Ending {
  after(run: () => void | Promise<void>): void;
}

/** Runs cleanups in reverse order of registration. */
export function lastFirst(t: Ending): Ending {
  const ends: (() => void | Promise<void>)[] = [];
  t.after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return { after: (end) => void ends.push(end) };
}

export function temporaryDirectory(t: Ending): string {
  const directory = mkdtempSync(join(tmpdir(), 'reveille-test-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens a new store; closed when the test ends, unless the test closed it, before its directory is removed. */
export function temporaryStore(t: Ending): Store {
  const ending = lastFirst(t);
  return closedAfter(ending, openStore(join(temporaryDirectory(ending), 'data')));
}

export function closedAfter(t: Ending, store: Store): Store {
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= store.close());
  t.after(close);
  return { ...store, close };
}

export function writeBeside(store: Store, name: string, content: string | Uint8Array): string {
  const path = join(store.directory, '..', name);
  writeFileSync(path, content);
  return path;
}
