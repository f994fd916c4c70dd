/**
 * The directory of the sockets by which processes reach each other: under the system's own for what is temporary, since
 * a path of a socket is short, and the data directory's may not be. Nobody but the owner can enter it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Of what the system takes for a path, 104 to 108 bytes, the least; a socket's own name has its part of it. */
const directoryBytesMax = 60;

/** Throws, with a sentence, where there is no room for it. */
export function makeSocketDirectory(): string {
  const handle = [tmpdir(), '/tmp'].find((path) => Buffer.byteLength(path) + 16 <= directoryBytesMax);
  if (handle === undefined)
    throw new Error(
      `the directory for sockets would have too long a path under ${tmpdir()}: set TMPDIR to a shorter one`,
    );
  return mkdtempSync(join(handle, 'reveille-'));
}

export function removeSocketDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}
