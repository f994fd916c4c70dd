/**
 * How often callers may ask. Each application has a bucket of its own, made when it first asks: there are as many as the
 * registry holds applications. An application's rate is shared evenly among the members that live. Waking is limited per
 * device and on this node, too. Source: decisions.md, Wakeup, Limits.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../../lib/token-bucket.ts';
import type { ApplicationId } from '../../model/ids.ts';
import type { DeviceActor } from './device-actor.ts';

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

  /**
   * For so many requests at once, all of them or none; of more than the burst, the rest is owed. 0: it may, and that is
   * counted. Else the milliseconds after which it may be allowed, and nothing was counted.
   */
  take(appId: ApplicationId, requests = 1): number {
    const waitMs = this.wait(appId, requests);
    if (waitMs === 0) this.use(appId, requests);
    return waitMs;
  }

  /** Milliseconds until it may, 0 when it may now; counts nothing. */
  wait(appId: ApplicationId, requests = 1): number {
    const nowMs = this.#clock.monotonicMs();
    const rate = this.#share();
    let bucket = this.#buckets.get(appId);
    if (bucket === undefined) {
      bucket = fullBucket(rate, nowMs);
      this.#buckets.set(appId, bucket);
    }
    return waitForToken(bucket, rate, nowMs, requests);
  }

  /** Only after `wait` said 0 in the same turn. */
  use(appId: ApplicationId, requests = 1): void {
    const bucket = this.#buckets.get(appId);
    assert(bucket !== undefined, 'a limit is asked before it is used');
    takeToken(bucket, requests);
  }

  /** At least one can be there, however many share it. */
  #share(): Rate {
    const count = this.#memberCount();
    if (count <= 1) return this.#rate;
    return { perSecond: this.#rate.perSecond / count, burst: Math.max(1, this.#rate.burst / count) };
  }
}

export interface WakeupLimitSettings {
  readonly device: Rate;
  readonly application: Rate;
  /** Wakeups of this node whose write is not yet answered. */
  readonly inFlightMax: number;
}

/** With the node full, a write is answered within a second: that is when to come back. */
const nodeFullRetryMs = 1000;

/** All limits of waking are asked before any is used up, so that what is refused uses nothing. */
export class WakeupLimits {
  readonly #clock: Clock;
  readonly #settings: WakeupLimitSettings;
  readonly #applications: ApplicationLimit;
  #inFlight = 0;

  /** `memberCount`: of those that live, this one among them. */
  constructor(clock: Clock, settings: WakeupLimitSettings, memberCount?: () => number) {
    this.#clock = clock;
    this.#settings = settings;
    this.#applications = new ApplicationLimit(clock, settings.application, memberCount);
  }

  /** 0: taken, and `release` is owed. Else the milliseconds after which it may be there, and nothing was taken. */
  take(appId: ApplicationId, actor: DeviceActor): number {
    const nowMs = this.#clock.monotonicMs();
    const { device, inFlightMax } = this.#settings;
    const ofDevice = actor.wakeAllowance(device, nowMs);
    const waitMs = Math.max(
      waitForToken(ofDevice, device, nowMs),
      this.#applications.wait(appId),
      this.#inFlight < inFlightMax ? 0 : nodeFullRetryMs,
    );
    if (waitMs > 0) return waitMs;
    takeToken(ofDevice);
    this.#applications.use(appId);
    this.#inFlight += 1;
    return 0;
  }

  release(): void {
    this.#inFlight -= 1;
  }
}
