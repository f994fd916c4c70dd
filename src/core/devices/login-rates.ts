/**
 * The rate of logins per device and port. Kept here rather than in the device's actor, so that a device that disconnects does not
 * regain its burst. Only devices with a burst that is not full again are kept: those of the last seconds. Source: docs/events.md,
 * Two that share an id.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';

/** Burst of logins per device and port, unless the rate (`limits.device_logins_per_second`) is higher. */
export const deviceLoginsBurst = 10;
const loginRatesMax = 100_000;

export class LoginRates {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #max: number;
  /** Monotonic milliseconds, whole, at which a device's burst is full again; latest login last. */
  readonly #fullAtMs = { sleep: new Map<DeviceId, number>(), signal: new Map<DeviceId, number>() } as const;

  /** `max`: devices per port; beyond it the one with the oldest login regains its burst. */
  constructor(clock: Clock, perSecond: number, max = loginRatesMax) {
    this.#clock = clock;
    this.#intervalMs = 1000 / perSecond;
    this.#burstMs = Math.max(deviceLoginsBurst, perSecond) * this.#intervalMs;
    this.#max = max;
  }

  /** Counts a login. False: too fast, and not counted. */
  acquire(kind: ConnectionKind, deviceId: DeviceId): boolean {
    const nowMs = Math.ceil(this.#clock.monotonicMs());
    const known = this.#fullAtMs[kind];
    this.#sweep(known, nowMs);
    const fullAtMs = Math.ceil(Math.max(nowMs, known.get(deviceId) ?? 0) + this.#intervalMs);
    if (fullAtMs - nowMs > Math.ceil(this.#burstMs)) return false;
    known.delete(deviceId);
    known.set(deviceId, fullAtMs);
    return true;
  }

  #sweep(known: Map<DeviceId, number>, nowMs: number): void {
    for (const [deviceId, fullAtMs] of known) {
      if (fullAtMs > nowMs && known.size < this.#max) return;
      known.delete(deviceId);
    }
  }
}
