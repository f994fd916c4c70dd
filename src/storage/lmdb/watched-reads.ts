/** Reports errors of a table's reads before they are thrown, to detect damage. */
import type { Database } from 'lmdb';

/** Patches the table: `failed` receives each error of a read, also within a range. */
export function watchReads<Row>(table: Database<Row, Buffer>, failed: (error: unknown) => void): void {
  const get = table.get.bind(table);
  const own = Object.getPrototypeOf(table) as Database<Row, Buffer>;
  table.get = (key, options) => {
    try {
      return options === undefined ? get(key) : get(key, options);
    } catch (error) {
      failed(error);
      throw error;
    }
  };
  // `getKeys` uses `getRange`; `this` may be a `RawTable`'s.
  table.getRange = function (this: Database<Row, Buffer>, options) {
    return watchIteration(own.getRange.call(this, options), failed);
  };
}

/** Wraps the iterator's steps; the other methods of the lmdb package's iterables stay. */
function watchIteration<Watched extends Iterable<unknown>>(
  items: Watched,
  failed: (error: unknown) => void,
): Watched {
  const iterate = items[Symbol.iterator].bind(items);
  const watched = (): Iterator<unknown> => {
    const iterator = attempt(iterate, failed);
    const next = iterator.next.bind(iterator);
    // Not assigned directly: V8 allocates a function assigned to a property in old memory, and all that it refers to follows.
    const watchedNext = (): IteratorResult<unknown> => attempt(next, failed);
    iterator.next = watchedNext;
    return iterator;
  };
  return Object.assign(items, { [Symbol.iterator]: watched });
}

function attempt<Result>(act: () => Result, failed: (error: unknown) => void): Result {
  try {
    return act();
  } catch (error) {
    failed(error);
    throw error;
  }
}
