/** Formats the progress of long work as one line, with an estimate of the remaining time. */
import type { Clock } from '../../lib/clock.ts';
import { spanInWords } from './option-values.ts';

/** Minimum measuring time, since earlier estimates are noise. */
const estimateAfterMs = 1000;

export class Pace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #verb: string | null = null;
  #startedMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** `importing: 42 %, 400000 entries, 12 seconds left`. `verb`: the phase; `share`: its finished part, 0 to 1. */
  describe(verb: string, share: number, ...more: readonly string[]): string {
    const nowMs = this.#clock.monotonicMs();
    // The first phase starts with the work, a later one when its predecessor ends.
    if (this.#verb !== null && this.#verb !== verb) this.#startedMs = nowMs;
    this.#verb = verb;
    const elapsedMs = nowMs - this.#startedMs;
    const parts = [`${Math.floor(share * 100)} %`, ...more];
    if (elapsedMs >= estimateAfterMs && share > 0)
      parts.push(`${spanInWords((elapsedMs * (1 - share)) / share)} left`);
    return `${verb}: ${parts.join(', ')}`;
  }
}

/** To the millisecond, for an answer. */
export function secondsSince(clock: Pick<Clock, 'monotonicMs'>, startedMs: number): number {
  return Number(((clock.monotonicMs() - startedMs) / 1000).toFixed(3));
}

export function rowsInWords(pace: Pace, verb: string, rows: number, inAll: number): string {
  return pace.describe(verb, inAll === 0 ? 1 : rows / inAll, `${rows} of ${inAll} rows`);
}
