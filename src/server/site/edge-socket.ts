/** Addresses at which local edges and media processes reach their core. */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { edgeSocketName, makeTemporaryDirectory, mediaSocketName } from '../../storage/lmdb/leftovers.ts';

/** Systems allow 104 to 108 bytes in a path; this leaves room for the suffixes of media processes and of the core. */
const pathBytesMax = 90;

/**
 * One path for all cores of this supervisor, different from that of other supervisors: processes of a second server on the same data
 * directory must not reach this core. If the path would be too long, it lies in a temporary directory, removed when this process exits.
 */
export function edgeSocketPath(dataDirectory: string): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\reveille-${edgeSocketName()}`;
  const own = join(dataDirectory, edgeSocketName());
  if (Buffer.byteLength(own) <= pathBytesMax) return own;
  const elsewhere = makeTemporaryDirectory();
  process.once('exit', () => rmSync(elsewhere, { recursive: true, force: true }));
  return join(elsewhere, edgeSocketName());
}

/** One socket next to that of the edges for each media process, by which the core identifies it. */
export function mediaSocketPaths(edgeSocket: string, processes: number): string[] {
  const names = Array.from({ length: processes }, (_, process) => mediaSocketName(process));
  if (process.platform === 'win32') return names.map((name) => `\\\\.\\pipe\\reveille-${name}`);
  return names.map((name) => join(dirname(edgeSocket), name));
}

/** Call after the last core has ended. */
export function removeSocket(path: string): void {
  if (process.platform !== 'win32') rmSync(path, { force: true });
}
