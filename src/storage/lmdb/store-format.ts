/**
 * The format of a store, a number in each of its files, and the errors of a store that cannot be opened. A field added at the
 * end of a row keeps the format; a change that would make a release misread a row has the next number. Source: docs/adr/0003.
 */

/** The files of a store, by what is in them. */
export const storeFileNames = {
  registry: 'registry.mdb',
  state: 'state.mdb',
  webhooks: 'webhooks.mdb',
} as const;

/** The format that this release reads and writes. */
export const storeFormat = 1;

/** The key of the number, in the root of a file, where the names of its tables are. */
export const storeFormatName = 'store-format';

/** Why a store cannot be opened: one sentence for the operator, with what to do. The process cannot go on without. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}

/** A store of another format than this release's. `found` null: the file has no number. */
export class StoreFormatError extends StoreOpenError {
  constructor(path: string, found: number | null) {
    super(
      `the store in ${path} has ${found === null ? 'no format' : `format ${found}`} and this release reads format ${storeFormat}: ` +
        `run the release that wrote it, or export its registry with that release and import it into another data directory`,
    );
  }
}
