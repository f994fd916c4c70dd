/** Real LMDB in a directory of the test's own, gone when the test ends. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, type Store } from '../../src/storage/lmdb/open-store.ts';

/** The end of a test, or of a whole file: a test's context, or `{ after }` of node:test. */
export interface Ending {
  after(run: () => void | Promise<void>): void;
}

/** What is begun later ends before. */
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

/** A new store; closed when the test ends, before its directory is removed, unless the test closed it. */
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

/** Writes a file beside the store's directory and returns its path. */
export function writeBeside(store: Store, name: string, content: string | Uint8Array): string {
  const path = join(store.directory, '..', name);
  writeFileSync(path, content);
  return path;
}
