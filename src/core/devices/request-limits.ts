/**
 * Rate limits of requests. Each application has its own bucket, created at its first request; the registry's applications bound
 * their number. Live members share an application's rate evenly. Wakeups are also limited per device and per member. Source:
 * decisions.md, Wakeup, Limits.
 */
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  fullBucket,
  spendTokens,
  waitForToken,
  type Rate,
  type TokenBucket,
} from '../../lib/token-bucket.ts';
import type { ApplicationId } from '../../model/ids.ts';
import type { DeviceActor } from './device-actor.ts';

export class ApplicationLimit {
  readonly #clock: Clock;
  readonly #rate: Rate;
  readonly #memberCount: () => number;
  readonly #buckets = new Map<ApplicationId, TokenBucket>();

  constructor(clock: Clock, rate: Rate, memberCount = (): number => 1) {
    this.#clock = clock;
    this.#rate = rate;
    this.#memberCount = memberCount;
  }

  /**
   * Acquires tokens for all of these requests, or none; beyond the burst, the rest is owed. Returns 0 on success; else the
   * milliseconds until a retry may succeed, and nothing is charged.
   */
  acquire(appId: ApplicationId, requests = 1): number {
    const waitMs = this.wait(appId, requests);
    if (waitMs === 0) this.use(appId, requests);
    return waitMs;
  }

  /** Milliseconds until the requests are allowed, 0: now. Charges nothing. */
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

  /** Charges the requests; only after `wait` returned 0 in the same turn. */
  use(appId: ApplicationId, requests = 1): void {
    const bucket = this.#buckets.get(appId);
    assert(bucket !== undefined, 'a limit is asked before it is used');
    spendTokens(bucket, requests);
  }

  /** A bucket holds at least one token, however many members share the rate. */
  #share(): Rate {
    const count = this.#memberCount();
    if (count <= 1) return this.#rate;
    return { perSecond: this.#rate.perSecond / count, burst: Math.max(1, this.#rate.burst / count) };
  }
}

export interface WakeupLimitSettings {
  readonly device: Rate;
  readonly application: Rate;
  /** Maximum wakeups of this member with an unanswered write. */
  readonly inFlightMax: number;
}

/** With all slots in use, one is free within a second, since each write is answered by then. */
const nodeFullRetryMs = 1000;

/** Checks all wakeup limits before it charges any, so that a refused request costs nothing. */
export class WakeupLimits {
  readonly #clock: Clock;
  readonly #settings: WakeupLimitSettings;
  readonly #applications: ApplicationLimit;
  #inFlight = 0;

  constructor(clock: Clock, settings: WakeupLimitSettings, memberCount?: () => number) {
    this.#clock = clock;
    this.#settings = settings;
    this.#applications = new ApplicationLimit(clock, settings.application, memberCount);
  }

  /** Returns 0 on success, and the caller owes `release`; else the milliseconds until a retry may succeed, and nothing is charged. */
  acquire(appId: ApplicationId, actor: DeviceActor): number {
    const nowMs = this.#clock.monotonicMs();
    const { device, inFlightMax } = this.#settings;
    const ofDevice = actor.wakeAllowance(device, nowMs);
    const waitMs = Math.max(
      waitForToken(ofDevice, device, nowMs),
      this.#applications.wait(appId),
      this.#inFlight < inFlightMax ? 0 : nodeFullRetryMs,
    );
    if (waitMs > 0) return waitMs;
    spendTokens(ofDevice);
    this.#applications.use(appId);
    this.#inFlight += 1;
    return 0;
  }

  release(): void {
    this.#inFlight -= 1;
  }
}
