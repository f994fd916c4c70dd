/** A rate with a burst. Asking and taking are apart, so that several limits can be asked before any is used up. */
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

/** Milliseconds until one token is there: 0 when it is there now. Refills; takes nothing. */
export function waitForToken(bucket: TokenBucket, rate: Rate, nowMs: number): number {
  const gained = ((nowMs - bucket.refilledMs) / 1000) * rate.perSecond;
  bucket.tokens = Math.min(rate.burst, bucket.tokens + gained);
  bucket.refilledMs = nowMs;
  return bucket.tokens >= 1 ? 0 : ((1 - bucket.tokens) / rate.perSecond) * 1000;
}

/** Only after `waitForToken` said 0 in the same turn. Of more than there are, the rest is owed. */
export function takeToken(bucket: TokenBucket, tokens = 1): void {
  bucket.tokens -= tokens;
}
