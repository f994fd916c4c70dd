/** Reads of a table that tell of what they throw before they throw it: what damage there is, a reader meets. */
import type { Database } from 'lmdb';

/** In place: `failed` is told of each error of a read, also of one that is met on the way through a range. */
export function watchReads<Row>(table: Database<Row, Buffer>, failed: (error: unknown) => void): void {
  // The keys alone are a range, too.
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

/** Its own iterator, with the steps watched; the rest of what the package's iterables can do stays as it is. */
function watchIteration<Watched extends Iterable<unknown>>(
  items: Watched,
  failed: (error: unknown) => void,
): Watched {
  const iterate = items[Symbol.iterator].bind(items);
  const watched = (): Iterator<unknown> => {
    const iterator = attempt(iterate, failed);
    const next = iterator.next.bind(iterator);
    iterator.next = () => attempt(next, failed);
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
