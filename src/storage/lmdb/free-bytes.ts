/** The bytes that are free on a disk for whoever runs this process. */
import { statfsSync } from 'node:fs';

/** Of the disk of a directory that is there. Throws what the system says when it cannot tell. */
export function freeBytesOf(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}
