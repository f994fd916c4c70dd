/** The addresses at which edges and media processes of this machine reach their core. */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { edgeSocketName, makeTemporaryDirectory, mediaSocketName } from '../../storage/lmdb/leftovers.ts';

/** The system takes 104 to 108 bytes for a path: that of a media process is longer, and a core binds one that is longer still. */
const pathBytesMax = 90;

/**
 * The same for all cores of this supervisor, and no other supervisor's: one that is refused the data directory must not reach the
 * core that has it. In the system's directory for temporary files where the path would be too long; that is removed at the exit of
 * this process.
 */
export function edgeSocketPath(dataDirectory: string): string {
  if (process.platform === 'win32') return `\\\\.\\pipe\\reveille-${edgeSocketName()}`;
  const own = join(dataDirectory, edgeSocketName());
  if (Buffer.byteLength(own) <= pathBytesMax) return own;
  const elsewhere = makeTemporaryDirectory();
  process.once('exit', () => rmSync(elsewhere, { recursive: true, force: true }));
  return join(elsewhere, edgeSocketName());
}

/** Beside that of the edges, one for each media process by its number: the core knows it by that. */
export function mediaSocketPaths(edgeSocket: string, processes: number): string[] {
  const names = Array.from({ length: processes }, (_, process) => mediaSocketName(process));
  if (process.platform === 'win32') return names.map((name) => `\\\\.\\pipe\\reveille-${name}`);
  return names.map((name) => join(dirname(edgeSocket), name));
}

/** Behind the last core. */
export function removeSocket(path: string): void {
  if (process.platform !== 'win32') rmSync(path, { force: true });
}
