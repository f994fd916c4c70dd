/** The address at which edges of this machine reach their core. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { edgeSocketName, makeTemporaryDirectory } from '../../storage/lmdb/leftovers.ts';

/** The system takes 104 to 108 bytes for a path. */
const pathBytesMax = 100;

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
