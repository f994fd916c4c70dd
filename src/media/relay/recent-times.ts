/** How long the last frames took. */
import { frameTimesKeptMax } from '../../model/limits.ts';

export class RecentTimes {
  readonly #timesMs: number[] = [];
  #next = 0;

  add(timeMs: number): void {
    this.#timesMs[this.#next] = timeMs;
    this.#next = (this.#next + 1) % frameTimesKeptMax;
  }

  /** Null: none yet. */
  view(): { readonly p50: number; readonly p99: number } | null {
    if (this.#timesMs.length === 0) return null;
    const sorted = this.#timesMs.toSorted((one, other) => one - other);
    const at = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
    return { p50: at(0.5), p99: at(0.99) };
  }
}
