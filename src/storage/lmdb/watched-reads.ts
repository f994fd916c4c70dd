/** Reports errors of a table's reads before they are thrown, to detect damage. */
import type { Database } from 'lmdb';

/** Patches the table: `failed` receives each error of a read, also within a range. */
export function watchReads<Row>(table: Database<Row, Buffer>, failed: (error: unknown) => void): void {
  // `getKeys` uses `getRange`.
  const get = table.get.bind(table);
  const getRange = table.getRange.bind(table);
  table.get = (key, options) => {
    try {
      return options === undefined ? get(key) : get(key, options);
    } catch (error) {
      failed(error);
      throw error;
    }
  };
  table.getRange = (options) => watchIteration(getRange(options), failed);
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
