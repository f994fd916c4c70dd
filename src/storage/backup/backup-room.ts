/** Room on a disk, asked for before it is needed. */
import { StoreOpenError } from '../lmdb/store-format.ts';

/** `what` is to be written into the directory, and takes so many bytes at most. Throws a StoreOpenError where there is less. */
export function refuseFull(what: string, needed: number, directory: string, free: number): void {
  if (free >= needed) return;
  throw new StoreOpenError(
    `${what} takes up to ${needed} bytes and the disk of ${directory} has ${free}: free some, or name another place`,
  );
}
