/**
 * Signs of progress within a turn of the event loop. Hundreds of requests can prolong a turn while timers and messages wait;
 * peers that judge this process by its heartbeats still see it working.
 */
import type { Cancel, Clock } from './clock.ts';

/** Shorter than any interval after which a silent process is killed. */
const signMs = 1000;

export class LoopProgress {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #signs = new Set<() => void>();
  #signedMs: number;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
    this.#signedMs = clock.monotonicMs();
  }

  /** Call it for every piece of work that a peer can cause. */
  readonly advance = (): void => {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#signedMs < signMs) return;
    this.#signedMs = nowMs;
    for (const sign of this.#signs) sign();
  };

  /** `sign` is called at most once a second while there is progress. It must write at once, not in a later turn. */
  onSign(sign: () => void): Cancel {
    this.#signs.add(sign);
    return () => void this.#signs.delete(sign);
  }
}
