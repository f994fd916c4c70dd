/**
 * Waiting lines: one per application, and one under null for items of all applications. Each item has one place, which orders it
 * across all of its lines. Adding, removing and finding the first cost nothing for lines of other applications. Callers bound the
 * number of items.
 */
import { firstWhere } from '../../lib/collections/binary-search.ts';
import type { ApplicationId } from '../../model/ids.ts';

export type LineKey = ApplicationId | null;

export interface Waiter {
  /** Lower is earlier; unique. May change only while the item is in no line. */
  readonly place: number;
  readonly lines: readonly LineKey[];
}

export class ApplicationLines<Item extends Waiter> {
  /** Sorted by place. Removal from the middle shifts the rest: microseconds for the thousands possible. */
  readonly #lines = new Map<LineKey, Item[]>();

  add(item: Item): void {
    for (const key of item.lines) {
      const line = this.#lines.get(key);
      if (line === undefined) this.#lines.set(key, [item]);
      else line.splice(indexOfPlace(line, item.place), 0, item);
    }
  }

  remove(item: Item): void {
    for (const key of item.lines) {
      const line = this.#lines.get(key);
      if (line === undefined) continue;
      const index = indexOfPlace(line, item.place);
      if (line[index] === item) line.splice(index, 1);
      if (line.length === 0) this.#lines.delete(key);
    }
  }

  /** The earliest item in these lines that fits; null: none. */
  first(keys: readonly LineKey[], fits: (item: Item) => boolean): Item | null {
    let first: Item | null = null;
    for (const key of keys) {
      const found = this.#lines.get(key)?.find(fits);
      if (found !== undefined && (first === null || found.place < first.place)) first = found;
    }
    return first;
  }
}

function indexOfPlace(line: readonly Waiter[], place: number): number {
  return firstWhere(line.length, (at) => (line[at]?.place ?? place) >= place);
}
