/**
 * How much waking is allowed: per device, per application, and on this node at once. All are asked before any is
 * used up, so that what is refused uses nothing. Source: decisions.md, Wakeup, Limits.
 */
import type { Clock } from '../../lib/clock.ts';
import { takeToken, waitForToken, type Rate } from '../../lib/token-bucket.ts';
import type { DeviceActor } from '../devices/device-actor.ts';
import type { ApplicationId } from '../../model/ids.ts';
import { ApplicationLimit } from '../devices/application-limit.ts';

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
