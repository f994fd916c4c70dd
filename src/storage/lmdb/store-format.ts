/**
 * The format of a store: a number in each of its files, the shape of a migration from one format to the next, and the errors of
 * a store that cannot be opened. A field added at the end of a row is no new format; anything that makes an older release
 * misread a row is. Source: docs/adr/0023.
 */
import type { Database } from 'lmdb';

/** The files of a store, by what is in them. */
export const storeFileNames = {
  registry: 'registry.mdb',
  state: 'state.mdb',
  webhooks: 'webhooks.mdb',
} as const;

/** One file of a store, inside the transaction of its migration. */
export interface MigratedFile {
  /** Makes the table where there is none. */
  table<Row>(name: string): Database<Row, Buffer>;
}

/** Takes a store from the format before it to the next: what changes in each file. Synchronous; may throw. */
export interface Migration {
  readonly registry?: (file: MigratedFile) => void;
  readonly state?: (file: MigratedFile) => void;
  readonly webhooks?: (file: MigratedFile) => void;
}

/** A file that has no number is of this format: the releases before it was written wrote none. */
export const firstFormat = 1;

/** The format that this release reads and writes. */
export const storeFormat = 2;

/** Why a store cannot be opened: one sentence for the operator, with what to do. The process cannot go on without. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}

/** A store of another format than this release's. */
export class StoreFormatError extends StoreOpenError {
  /** A start of this release migrates it. */
  readonly isOlder: boolean;

  constructor(directory: string, found: number, format: number) {
    const isOlder = found < format;
    super(
      isOlder
        ? `the store in ${directory} has format ${found} and this release reads format ${format}: ` +
            `start the server once, which takes a copy of the store and migrates it`
        : `the store in ${directory} has format ${found}, newer than format ${format} of this release: ` +
            `run the release that wrote it or a later one, or restore a copy of format ${format}`,
    );
    this.isOlder = isOlder;
  }
}
