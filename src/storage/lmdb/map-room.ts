/**
 * Room for the memory map of a file to grow. LMDB maps a file anew, twice as large, before what is written reaches the end of
 * the map; where the system refuses that (a limit of the address space), the package would end the process at the next page
 * that it reads. So a transaction that may need a greater map is refused before it begins, and tried again like one that
 * meets a full disk. Only Linux says what is left: elsewhere nothing is refused.
 */
import { readFileSync } from 'node:fs';
import { SystemClock } from '../../lib/system-clock.ts';
import { addressLimitMs, mapGrowthBytesMax } from './store-limits.ts';

export class MapFullError extends Error {
  override readonly name = 'MapFullError';
}

export interface MapUse {
  readonly mapBytes: number;
  /** Of the map, up to the last page of the file; null: inside a transaction, which has come nobody knows how far. */
  readonly usedBytes: number | null;
}

/** Throws a MapFullError where the map may have to grow, and could not. `leftBytes`: of the address space. */
export function checkMapRoom({ mapBytes, usedBytes }: MapUse, leftBytes = addressSpaceLeft): void {
  if (usedBytes !== null && usedBytes + mapGrowthBytesMax < mapBytes) return;
  const wanted = 2 * mapBytes + mapGrowthBytesMax;
  const left = leftBytes();
  if (left >= wanted) return;
  throw new MapFullError(
    `the store's memory map is full: it would grow from ${mebibytes(mapBytes)} to ${mebibytes(2 * mapBytes)}, ` +
      `and a limit leaves ${mebibytes(left)} of the address space`,
  );
}

const clock = new SystemClock();
/** That there is no limit is believed until then. */
let unlimitedUntilMs = 0;

/** Of this process, in bytes; Infinity: no limit is set, or the system does not say. */
export function addressSpaceLeft(): number {
  if (process.platform !== 'linux' || clock.monotonicMs() < unlimitedUntilMs) return Infinity;
  const limit = readAddressSpaceLimit();
  if (limit === Infinity) {
    unlimitedUntilMs = clock.monotonicMs() + addressLimitMs;
    return Infinity;
  }
  const usedKibibytes = /^VmSize:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  return Math.max(0, limit - Number(usedKibibytes ?? 0) * 1024);
}

/** The soft limit of the address space of this process, in bytes; Infinity: there is none. */
export function readAddressSpaceLimit(): number {
  if (process.platform !== 'linux') return Infinity;
  const soft = /^Max address space\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
  return soft === undefined ? Infinity : Number(soft);
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 2 ** 20)} MiB`;
}
