import { StoreOpenError } from '../lmdb/store-format.ts';

/** Throws a StoreOpenError when less than `needed` bytes are free; `what` names the data in the error. */
export function refuseFull(what: string, needed: number, directory: string, free: number): void {
  if (free >= needed) return;
  throw new StoreOpenError(
    `${what} takes up to ${needed} bytes and the disk of ${directory} has ${free}: free some space, or name another place`,
  );
}
