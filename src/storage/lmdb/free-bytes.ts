import { statfsSync } from 'node:fs';

/** Bytes that this process may still write to the disk of an existing directory. Throws the system's error. */
export function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
