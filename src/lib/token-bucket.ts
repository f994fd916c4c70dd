/**
 * Two limits of rate: tokens that refill over time, and a budget for one turn of the event loop, since the front end hands
 * over all that one socket has sent without returning to the loop.
 */

export interface TokenBucket {
  tokens: number;
  /** Monotonic milliseconds of the last refill. */
  refilledMs: number;
}

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export function fullBucket(rate: Rate, nowMs: number): TokenBucket {
  return { tokens: rate.burst, refilledMs: nowMs };
}

/**
 * Milliseconds until so many tokens are there, or as many as the bucket holds: 0 when they are there now. Refills; takes
 * nothing.
 */
export function waitForToken(bucket: TokenBucket, rate: Rate, nowMs: number, tokens = 1): number {
  const gained = ((nowMs - bucket.refilledMs) / 1000) * rate.perSecond;
  bucket.tokens = Math.min(rate.burst, bucket.tokens + gained);
  bucket.refilledMs = nowMs;
  const missing = Math.min(tokens, rate.burst) - bucket.tokens;
  return missing <= 0 ? 0 : (missing / rate.perSecond) * 1000;
}

/** Only after `waitForToken` said 0 in the same turn. Of more than there are, the rest is owed. */
export function takeToken(bucket: TokenBucket, tokens = 1): void {
  bucket.tokens -= tokens;
}

/** Both in one: 0 when the tokens are acquired, else the milliseconds until they are there, and none is acquired. */
export function acquireTokens(bucket: TokenBucket, rate: Rate, nowMs: number, tokens = 1): number {
  const waitMs = waitForToken(bucket, rate, nowMs, tokens);
  if (waitMs === 0) takeToken(bucket, tokens);
  return waitMs;
}

export class TurnBudget {
  readonly #max: number;
  #spent = 0;
  readonly #renew = (): void => {
    this.#spent = 0;
  };

  constructor(max: number) {
    this.#max = max;
  }

  /** False: this turn has done enough. */
  take(): boolean {
    if (this.#spent === 0) setImmediate(this.#renew);
    this.#spent += 1;
    return this.#spent <= this.#max;
  }
}
