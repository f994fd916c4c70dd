/**
 * Limits of rate: tokens that refill over time, the rates of one sender, and a budget for one turn of the event loop, since the
 * front end hands over all that one socket has sent without returning to the loop.
 */

import { assert } from './assert.ts';

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

/** The rates of one sender, of each kind that it sends and of bytes: a flood costs it the connection, and others nothing. */
export class Allowance<Kind extends string> {
  readonly #sender: string;
  readonly #rates: Readonly<Record<Kind | 'bytes', Rate>>;
  readonly #buckets = new Map<Kind | 'bytes', TokenBucket>();

  /** `sender`: with its article. */
  constructor(sender: string, rates: Readonly<Record<Kind | 'bytes', Rate>>, nowMs: number) {
    this.#sender = sender;
    this.#rates = rates;
    for (const kind of Object.keys(rates) as Kind[]) this.#buckets.set(kind, fullBucket(rates[kind], nowMs));
  }

  /** One message that is of all these kinds. Null: it is allowed; else a sentence that names the limit. */
  acquire(kinds: readonly Kind[], bytes: number, nowMs: number): string | null {
    for (const kind of kinds) if (this.#isEmpty(kind, nowMs)) return this.#sentence(kind);
    if (this.#isEmpty('bytes', nowMs)) return this.#sentence('bytes');
    for (const kind of kinds) takeToken(this.#bucketOf(kind));
    takeToken(this.#bucketOf('bytes'), bytes);
    return null;
  }

  #isEmpty(kind: Kind | 'bytes', nowMs: number): boolean {
    return waitForToken(this.#bucketOf(kind), this.#rates[kind], nowMs) > 0;
  }

  #sentence(kind: Kind | 'bytes'): string {
    const { perSecond, burst } = this.#rates[kind];
    return `${this.#sender} sends ${perSecond} ${kind} a second at most, and ${burst} at once`;
  }

  #bucketOf(kind: Kind | 'bytes'): TokenBucket {
    const bucket = this.#buckets.get(kind);
    assert(bucket !== undefined, 'each kind has a rate');
    return bucket;
  }
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
