/** Limits of webhook delivery, and the retry schedule. Source: events.md, Webhooks. */

export const webhookLimits = {
  /** Maximum time of one attempt: DNS, connection, TLS, headers and body. */
  attemptMsMax: 15_000,
  /** Delays before the second attempt, the third, ...; if the last attempt fails, the event is parked. */
  retryDelaysMs: [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000],
  /** Each delay is multiplied by a uniform random number from 1 - jitter to 1 + jitter. */
  retryJitter: 0.2,
  /** Events of a hook that are read and neither delivered nor stored as failed; full: it stops reading. */
  windowEventsMax: 256,
  /** Events read after a blocked cursor; beyond it the blocking events move to the store. */
  spanEventsMax: 4096,
  /** Events read for one hook in one turn of the event loop. */
  scanEventsMax: 1000,
  /** Concurrent attempts, per hook and in total. */
  attemptsPerHookMax: 32,
  attemptsMax: 256,
  /** Failed events of a hook; full: it stops reading. */
  failedPerHookMax: 10_000,
  /** Parked events of a hook; beyond it the oldest are dropped. */
  parkedPerHookMax: 100_000,
  /** Consecutive failures that open the circuit, and the maximum interval of its probes. */
  circuitFailures: 5,
  probeDelayMsMax: 600_000,
  /** Maximum number of hooks; further ones in the registry's order are ignored and logged. */
  hooksMax: 10_000,
  /** Delay of the commit of a cursor, after an attempt, and after events of other applications. */
  commitMs: 50,
  commitIdleMs: 1000,
  /** Delay before a failed commit is retried, and the number of pending changes at which reading stops. */
  commitRetryMs: 1000,
  changesWaitingMax: 20_000,
  /** Maximum wait for pending attempts when the server stops. */
  stopMsMax: 5000,
};

export type WebhookLimits = Readonly<typeof webhookLimits>;

export const answerBytesMax = 64 * 1024;
export const reasonCharactersMax = 300;
/** Number of recent events cached for all hooks. */
export const tailEventsMax = 1024;
/** Maximum events of a commit whose applications are computed once for all hooks; beyond it each hook reads them. */
export const concernedEventsMax = 256;
/** Maximum events per replay, and per listing. */
export const replayEventsMax = 1000;
export const parkedShownMax = 1000;
export const testsMax = 16;
type RetryLimits = Pick<WebhookLimits, 'retryDelaysMs' | 'retryJitter' | 'probeDelayMsMax'>;

export class RetrySchedule {
  readonly #limits: RetryLimits;
  readonly #random: () => number;

  /** `random`: returns numbers from 0 to 1. */
  constructor(limits: RetryLimits, random: () => number) {
    this.#limits = limits;
    this.#random = random;
  }

  /** Milliseconds before the next attempt after this many failed ones; null: park the event. */
  delayMs(attempts: number): number | null {
    const rung = this.#limits.retryDelaysMs[attempts - 1];
    return rung === undefined ? null : rung * this.#jitter(this.#random());
  }

  /** Maximum of `delayMs` for this number of attempts. */
  delayMsMax(attempts: number): number {
    return (this.#limits.retryDelaysMs[attempts - 1] ?? 0) * this.#jitter(1);
  }

  /** Milliseconds before the next probe after this many probes: the delays of `delayMs`, capped at `probeDelayMsMax`. */
  probeDelayMs(probes: number): number {
    const { retryDelaysMs, probeDelayMsMax } = this.#limits;
    const rung = Math.min(retryDelaysMs[probes] ?? probeDelayMsMax, probeDelayMsMax);
    return rung * this.#jitter(this.#random());
  }

  #jitter(drawn: number): number {
    return 1 + this.#limits.retryJitter * (2 * drawn - 1);
  }
}
