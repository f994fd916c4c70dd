/** The limits of webhook delivery, and the schedule by which an event is tried again and given up. Source: events.md, Webhooks. */

/** Limits of one webhook and of all of them together. */
export const webhookLimits = {
  /** Of one attempt, all told: name, connection, TLS, headers, body. */
  attemptMsMax: 15_000,
  /** Before the second attempt, the third, ...; after the last of them an event is parked. */
  retryDelaysMs: [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000],
  /** A delay is its rung times a number drawn evenly from 1 - jitter to 1 + jitter. */
  retryJitter: 0.2,
  /** Events of a hook that were read from the log and are not settled; full: it reads no further. */
  windowEventsMax: 256,
  /** Behind a cursor that one device holds up; beyond it what holds it up waits in the store instead. */
  spanEventsMax: 4096,
  /** Events looked at for one hook in one turn of the loop; then it is another's turn. */
  scanEventsMax: 1000,
  /** Attempts under way for one hook, and in all; beyond it events wait their turn. */
  attemptsPerHookMax: 32,
  attemptsMax: 256,
  /** Failed events of a hook that wait for a retry; full: the hook reads no further. */
  failedPerHookMax: 10_000,
  /** Parked events of a hook; beyond it the oldest is dropped. */
  parkedPerHookMax: 100_000,
  /** Failures in a row after which an endpoint is only probed, and how far apart its probes come to be. */
  circuitFailures: 5,
  probeDelayMsMax: 600_000,
  /** Hooks that are served; those beyond it in the registry's order are not, and the log says so. */
  hooksMax: 10_000,
  /** A cursor that has moved is committed this soon after an attempt, and after events that were not for its hook. */
  commitMs: 50,
  commitIdleMs: 1000,
  /** A store that refused a commit is asked again after this; meanwhile this many changes may wait, then nothing is read. */
  commitRetryMs: 1000,
  changesWaitingMax: 20_000,
  /** Attempts under way may end for so long when the server stops. */
  stopMsMax: 5000,
};

export type WebhookLimits = Readonly<typeof webhookLimits>;

/** Of a receiver's answer; the rest is not read. */
export const answerBytesMax = 64 * 1024;
/** Of a reason that is kept. */
export const reasonCharactersMax = 300;
/** The log's latest events, decoded once for all hooks. */
export const tailEventsMax = 1024;
/** Events of one commit that are looked at together, before any hook looks at them; beyond it each hook does. */
export const concernedEventsMax = 256;
/** Events that one call replays, and that one listing shows. */
export const replayEventsMax = 1000;
export const parkedShownMax = 1000;
/** Tests by operators under way; beyond it another is refused. */
export const testsMax = 16;
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
