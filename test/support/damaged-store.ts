/** Damage of a store's file behind whoever has it open: pages that a disk writes over, and a lock file of older commits. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import type { TestContext } from 'node:test';

const pageBytes = 4096;

/** Each page that has the text, and none of `kept`, becomes zeros. Returns how many. */
export function wipePages(file: string, text: string, kept: readonly string[] = []): number {
  const bytes = readFileSync(file);
  const descriptor = openSync(file, 'r+');
  let wiped = 0;
  // The first two are the file's heads.
  for (let at = 2 * pageBytes; at < bytes.length; at += pageBytes) {
    const page = bytes.subarray(at, at + pageBytes);
    if (!page.includes(text) || kept.some((other) => page.includes(other))) continue;
    writeSync(descriptor, Buffer.alloc(pageBytes), 0, pageBytes, at);
    wiped += 1;
  }
  closeSync(descriptor);
  assert.ok(wiped > 0, `no page of ${file} has ${text} alone`);
  return wiped;
}

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
