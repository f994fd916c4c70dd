/**
 * The format of a store, a number in each of its files, and the errors of a store that cannot be opened. Fields added at the end of a
 * row keep the format; a change that an older release would misread increments it. Source: docs/adr/0003.
 */

export const storeFileNames = {
  registry: 'registry.mdb',
  state: 'state.mdb',
  webhooks: 'webhooks.mdb',
} as const;

export const storeFormat = 1;

/** Key of the format number in the root of a file, among the names of its tables. */
export const storeFormatName = 'store-format';

/** A store cannot be opened. The message is one sentence for the operator with advice. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}

/** The store has another format than this release. `found` null: the file has no number. */
export class StoreFormatError extends StoreOpenError {
  constructor(path: string, found: number | null) {
    super(
      `the store in ${path} has ${found === null ? 'no format' : `format ${found}`} and this release reads format ${storeFormat}: ` +
        `run the release that wrote it, or export its registry with that release and import it into another data directory`,
    );
  }
}
