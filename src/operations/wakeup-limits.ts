/**
 * How much waking is allowed: per device, per application, and on this node at once. All are asked before any is
 * used up, so that what is refused uses nothing. An application's is shared evenly among the members that live.
 * Source: decisions.md, Wakeup, Limits.
 */
import type { Clock } from '../base/clock.ts';
import { fullBucket, takeToken, waitForToken, type Rate, type TokenBucket } from '../base/token-bucket.ts';
import type { DeviceActor } from '../actor/device-actor.ts';
import type { ApplicationId } from '../domain/ids.ts';

export interface WakeupLimitSettings {
  readonly device: Rate;
  readonly application: Rate;
  /** Wakeups of this node whose write is not yet answered. */
  readonly inFlightMax: number;
}

/** With the node full, a write is answered within a second: that is when to come back. */
const nodeFullRetryMs = 1000;

export class WakeupLimits {
  readonly #clock: Clock;
  readonly #settings: WakeupLimitSettings;
  /** One per application that ever woke a device; applications are as many as the registry holds. */
  readonly #applications = new Map<ApplicationId, TokenBucket>();
  readonly #memberCount: () => number;
  #inFlight = 0;

  /** `memberCount`: of those that live, this one among them. */
  constructor(clock: Clock, settings: WakeupLimitSettings, memberCount = (): number => 1) {
    this.#clock = clock;
    this.#settings = settings;
    this.#memberCount = memberCount;
  }

  /** 0: taken, and `release` is owed. Else the milliseconds after which it may be there, and nothing was taken. */
  take(appId: ApplicationId, actor: DeviceActor): number {
    const nowMs = this.#clock.monotonicMs();
    const { device, inFlightMax } = this.#settings;
    const application = this.#share();
    const ofDevice = actor.wakeAllowance(device, nowMs);
    const ofApplication = this.#bucketOf(appId, application, nowMs);
    const waitMs = Math.max(
      waitForToken(ofDevice, device, nowMs),
      waitForToken(ofApplication, application, nowMs),
      this.#inFlight < inFlightMax ? 0 : nodeFullRetryMs,
    );
    if (waitMs > 0) return waitMs;
    takeToken(ofDevice);
    takeToken(ofApplication);
    this.#inFlight += 1;
    return 0;
  }

  release(): void {
    this.#inFlight -= 1;
  }

  /** At least one wakeup can be there, however many share it. */
  #share(): Rate {
    const { application } = this.#settings;
    const count = this.#memberCount();
    if (count <= 1) return application;
    return { perSecond: application.perSecond / count, burst: Math.max(1, application.burst / count) };
  }

  #bucketOf(appId: ApplicationId, rate: Rate, nowMs: number): TokenBucket {
    let bucket = this.#applications.get(appId);
    if (bucket === undefined) {
      bucket = fullBucket(rate, nowMs);
      this.#applications.set(appId, bucket);
    }
    return bucket;
  }
}
