/** What a process that opens an LMDB file does to the order of its commits, at a chosen moment. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { TestContext } from 'node:test';

const newestCommitAt = 8;

/**
 * Notes as the newest commit one that is `behind` too old. Who closes the lock file gives up LMDB's lock on it, so it
 * stays open until the test ends.
 */
export function setBack(t: TestContext, path: string, behind: number): void {
  const file = openSync(`${path}-lock`, 'r+');
  t.after(() => closeSync(file));
  const newest = Buffer.alloc(8);
  readSync(file, newest, 0, 8, newestCommitAt);
  newest.writeBigUInt64LE(newest.readBigUInt64LE() - BigInt(behind));
  writeSync(file, newest, 0, 8, newestCommitAt);
}
