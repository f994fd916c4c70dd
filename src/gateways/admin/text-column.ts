/** Finds texts in a column, where one search within many bytes takes the place of a loop over devices. */
import type { TextColumn } from '../../core/ports/device-registry.ts';
import { firstWhere } from '../../lib/collections/binary-search.ts';

/** Returns the first matching row from `row` on; the number of rows: none. */
export type Finder = (row: number) => number;

/** `latin1`: the byte text. */
export function textAt(
  { bytes, ends }: TextColumn,
  row: number,
  encoding: 'latin1' | 'utf8' = 'latin1',
): string {
  return bytes.toString(encoding, startOf(ends, row), ends[row]);
}

/** Finds the first row from `row` on that all finders match; `count`: none. */
export function findRow(finders: readonly Finder[], count: number, row: number): number {
  let found = row;
  for (let agreed = 0; agreed < finders.length;)
    for (const find of finders) {
      const next = find(found);
      if (next === count) return count;
      agreed = next === found ? agreed + 1 : 1;
      found = next;
    }
  return found;
}

export function partFinder({ bytes, ends }: TextColumn, part: Buffer): Finder {
  const count = ends.length;
  return (row) => {
    for (let from = startOf(ends, row); ;) {
      const at = bytes.indexOf(part, from);
      if (at < 0) return count;
      const found = at < (ends[row] ?? 0) ? row : firstWhere(count, (each) => at < (ends[each] ?? 0));
      // It may begin in one row and end in the next.
      if (at + part.length <= (ends[found] ?? 0)) return found;
      from = at + 1;
    }
  };
}

export function byteFinder(bytes: Uint8Array, byte: number): Finder {
  return (row) => {
    const at = bytes.indexOf(byte, row);
    return at < 0 ? bytes.length : at;
  };
}

function startOf(ends: Uint32Array, row: number): number {
  return row === 0 ? 0 : (ends[row - 1] ?? 0);
}
