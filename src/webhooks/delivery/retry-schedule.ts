/** When an event is tried again, and when it is given up. Source: events.md, Webhooks. */
import type { WebhookLimits } from './limits.ts';

type RetryLimits = Pick<WebhookLimits, 'retryDelaysMs' | 'retryJitter' | 'probeDelayMsMax'>;

export class RetrySchedule {
  readonly #limits: RetryLimits;
  readonly #random: () => number;

  /** `random` draws from 0 to 1. */
  constructor(limits: RetryLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  /** Milliseconds until the next attempt after this many failed ones; null: it is parked. */
  delayMs(attempts: number): number | null {
    const rung = this.#limits.retryDelaysMs[attempts - 1];
    return rung === undefined ? null : rung * this.#jitter(this.#random());
  }

  /** The longest that `delayMs` may say for this many: what is left of it after a restart is not more. */
  delayMsMax(attempts: number): number {
    return (this.#limits.retryDelaysMs[attempts - 1] ?? 0) * this.#jitter(1);
  }

  /** Milliseconds until a dead endpoint is asked again after this many probes: the same rungs, up to the longest allowed. */
  probeDelayMs(probes: number): number {
    const { retryDelaysMs, probeDelayMsMax } = this.#limits;
    const rung = Math.min(retryDelaysMs[probes] ?? probeDelayMsMax, probeDelayMsMax);
    return rung * this.#jitter(this.#random());
  }

  #jitter(drawn: number): number {
    return 1 + this.#limits.retryJitter * (2 * drawn - 1);
  }
}
