/**
 * Those who wait, in lines: one for each application, and one, under null, for what is all applications'. Everybody has
 * one place, by which who stands in several lines comes before or after the others. To come, to go and to find the
 * first costs nothing for the lines of other applications. How many may stand here is bounded by who brings them.
 */
import type { ApplicationId } from '../../model/ids.ts';

export type LineKey = ApplicationId | null;

export interface Waiter {
  /** Lower is earlier; no two have the same. It may change while one stands in no line. */
  readonly place: number;
  /** The lines to stand in. */
  readonly lines: readonly LineKey[];
}

export class ApplicationLines<Item extends Waiter> {
  /** By place. Removing from the middle moves the rest up: microseconds, for the thousands there may be. */
  readonly #lines = new Map<LineKey, Item[]>();

  add(item: Item): void {
    for (const key of item.lines) {
      const line = this.#lines.get(key);
      if (line === undefined) this.#lines.set(key, [item]);
      else line.splice(indexOfPlace(line, item.place), 0, item);
    }
  }

  /** Nothing where it does not stand. */
  remove(item: Item): void {
    for (const key of item.lines) {
      const line = this.#lines.get(key);
      if (line === undefined) continue;
      const index = indexOfPlace(line, item.place);
      if (line[index] === item) line.splice(index, 1);
      if (line.length === 0) this.#lines.delete(key);
    }
  }

  /** The earliest in these lines that fits; null: none does. */
  first(keys: readonly LineKey[], fits: (item: Item) => boolean): Item | null {
    let first: Item | null = null;
    for (const key of keys) {
      const found = this.#lines.get(key)?.find(fits);
      if (found !== undefined && (first === null || found.place < first.place)) first = found;
    }
    return first;
  }
}

/** Of the first that is there or behind it. */
function indexOfPlace(line: readonly Waiter[], place: number): number {
  let [from, to] = [0, line.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const there = line[middle];
    if (there !== undefined && there.place < place) from = middle + 1;
    else to = middle;
  }
  return from;
}
