/**
 * How often each application may do something: a bucket of its own for every one that ever did it, and those are as
 * many as the registry holds. An application's rate is shared evenly among the members that live. Source:
 * decisions.md, Wakeup, Limits.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import type { ApplicationId } from '../../model/ids.ts';

export class ApplicationLimit {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #memberCount: () => number;
  readonly #buckets = new Map<ApplicationId, TokenBucket>();

  /** `memberCount`: of those that live, this one among them. */
  constructor(clock: Clock, rate: Rate, memberCount = (): number => 1) {
    this.#clock = clock;
    this.#rate = rate;
    this.#memberCount = memberCount;
  }

  /** 0: it may, and that is counted. Else the milliseconds after which it may be allowed, and nothing was counted. */
  take(appId: ApplicationId): number {
    const waitMs = this.wait(appId);
    if (waitMs === 0) this.use(appId);
    return waitMs;
  }

  /** For who asks several limits before any is used up: milliseconds until it may, 0 when it may now. */
  wait(appId: ApplicationId): number {
    const nowMs = this.#clock.monotonicMs();
    const rate = this.#share();
    let bucket = this.#buckets.get(appId);
    if (bucket === undefined) {
      bucket = fullBucket(rate, nowMs);
      this.#buckets.set(appId, bucket);
    }
    return waitForToken(bucket, rate, nowMs);
  }

  /** Only after `wait` said 0 in the same turn. */
  use(appId: ApplicationId): void {
    const bucket = this.#buckets.get(appId);
    assert(bucket !== undefined, 'who uses a limit has asked it');
    takeToken(bucket);
  }

  /** At least one can be there, however many share it. */
  #share(): Rate {
    const count = this.#memberCount();
    if (count <= 1) return this.#rate;
    return { perSecond: this.#rate.perSecond / count, burst: Math.max(1, this.#rate.burst / count) };
  }
}
