/** How long something took lately: the figures of the last minute, from a bounded number of the latest samples. */

export interface LatencySummary {
  readonly count: number;
  /** Whole milliseconds. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
}

const windowMs = 60_000;
/** Beyond it the oldest are written over, though the minute is not yet over. */
const samplesMax = 16_384;

export class LatencyWindow {
  readonly #samples: { readonly atMs: number; readonly tookMs: number }[] = [];
  #next = 0;

  /** `atMs`: monotonic. */
  add(atMs: number, tookMs: number): void {
    this.#samples[this.#next] = { atMs, tookMs };
    this.#next = (this.#next + 1) % samplesMax;
  }

  /** Null when there was none in the minute before `nowMs`. */
  summarize(nowMs: number): LatencySummary | null {
    const sorted = this.#samples
      .filter(({ atMs }) => atMs > nowMs - windowMs)
      .map(({ tookMs }) => tookMs)
      .sort((one, other) => one - other);
    if (sorted.length === 0) return null;
    const at = (part: number): number => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
    return { count: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), maxMs: at(1) };
  }
}
