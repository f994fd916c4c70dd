/**
 * Rate limits: tokens that refill over time, the rates of one sender, and a budget for one turn of the event loop
 * (uWebSockets.js delivers everything that a socket has sent without returning to the loop).
 */

import { assert } from './assert.ts';

export interface TokenBucket {
  tokens: number;
  /** Monotonic milliseconds. */
  refilledMs: number;
}

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export function fullBucket(rate: Rate, nowMs: number): TokenBucket {
  return { tokens: rate.burst, refilledMs: nowMs };
}

/** Refills, and returns the milliseconds until the tokens, or a full bucket if they are more, are available: 0: now. Spends nothing. */
export function waitForToken(bucket: TokenBucket, rate: Rate, nowMs: number, tokens = 1): number {
  const gained = ((nowMs - bucket.refilledMs) / 1000) * rate.perSecond;
  bucket.tokens = Math.min(rate.burst, bucket.tokens + gained);
  bucket.refilledMs = nowMs;
  const missing = Math.min(tokens, rate.burst) - bucket.tokens;
  return missing <= 0 ? 0 : (missing / rate.perSecond) * 1000;
}

/** Only after `waitForToken` returned 0 in the same turn. Spending more than the bucket has leaves a debt. */
export function spendTokens(bucket: TokenBucket, tokens = 1): void {
  bucket.tokens -= tokens;
}

/** Spends the tokens and returns 0, or spends none and returns the milliseconds until they are available. */
export function acquireTokens(bucket: TokenBucket, rate: Rate, nowMs: number, tokens = 1): number {
  const waitMs = waitForToken(bucket, rate, nowMs, tokens);
  if (waitMs === 0) spendTokens(bucket, tokens);
  return waitMs;
}

/** Rates of one sender, per kind of message and for bytes: a flood closes its connection and harms no other. */
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

  /** Charges one message that belongs to all these kinds. Null: allowed; else a sentence that names the limit. */
  acquire(kinds: readonly Kind[], bytes: number, nowMs: number): string | null {
    for (const kind of kinds) if (this.#isEmpty(kind, nowMs)) return this.#sentence(kind);
    if (this.#isEmpty('bytes', nowMs)) return this.#sentence('bytes');
    for (const kind of kinds) spendTokens(this.#bucketOf(kind));
    spendTokens(this.#bucketOf('bytes'), bytes);
    return null;
  }

  #isEmpty(kind: Kind | 'bytes', nowMs: number): boolean {
    return waitForToken(this.#bucketOf(kind), this.#rates[kind], nowMs) > 0;
  }

  #sentence(kind: Kind | 'bytes'): string {
    const { perSecond, burst } = this.#rates[kind];
    return `${this.#sender} sends ${perSecond} ${kind} a second at most, with a burst of ${burst}`;
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

  /** False: the budget of this turn is spent. */
  spend(): boolean {
    if (this.#spent === 0) setImmediate(this.#renew);
    this.#spent += 1;
    return this.#spent <= this.#max;
  }
}
