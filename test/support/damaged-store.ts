/** Damages a file of an open store: overwrites pages, as a faulty disk does. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

const pageBytes = 4096;

/** Zeroes each page that contains `text` and none of `kept`. Returns the number of pages. */
export function wipePages(file: string, text: string, kept: readonly string[] = []): number {
  const bytes = readFileSync(file);
  const descriptor = openSync(file, 'r+');
  let wiped = 0;
  // The first two pages are the file's meta pages.
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
