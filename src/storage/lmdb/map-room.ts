/**
 * Checks that a file's memory map can grow. LMDB remaps a file at twice the size before writes reach the end of the map; if the
 * system refuses (a limit of the address space), the lmdb package would end the process at the next page that it reads. So a
 * transaction that may need a larger map is rejected before it begins, and retried like one on a full disk. Only Linux reports the
 * remaining address space: elsewhere no transaction is rejected.
 */
import { readFileSync } from 'node:fs';
import { SystemClock } from '../../lib/system-clock.ts';
import { addressLimitMs, mapGrowthBytesMax } from './store-limits.ts';

export class MapFullError extends Error {
  override readonly name = 'MapFullError';
}

export interface MapUse {
  readonly mapBytes: number;
  /** Used bytes of the map, up to the last page of the file; null: unknown, inside a transaction. */
  readonly usedBytes: number | null;
}

/** Throws a MapFullError when the map may have to grow and cannot. `leftBytes`: remaining address space. */
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
/** Until then, the absence of a limit is not checked again. */
let unlimitedUntilMs = 0;

/** Remaining address space of this process in bytes; Infinity: unlimited or unknown. */
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

/** Soft limit of the address space of this process, in bytes; Infinity: none. */
export function readAddressSpaceLimit(): number {
  if (process.platform !== 'linux') return Infinity;
  const soft = /^Max address space\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
  return soft === undefined ? Infinity : Number(soft);
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 2 ** 20)} MiB`;
}
