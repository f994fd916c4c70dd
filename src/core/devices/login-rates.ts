/**
 * The rate of logins of each device at a port. A device that logs out does not get its logins back: the rate is kept here, not in
 * its actor. Only devices whose burst is not full again are kept, so the table has those of the last seconds.
 * Source: docs/events.md, Two that share an id.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ConnectionKind } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';

/** Logins of one device at one port at once, where the rate (`limits.device_logins_per_second`) is not higher. */
export const deviceLoginsBurst = 10;
/** Devices of one port whose logins are counted. */
const loginRatesMax = 100_000;

export class LoginRates {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #max: number;
  /** Whole monotonic milliseconds at which a device's burst is full again; the latest login last. */
  readonly #fullAtMs = { sleep: new Map<DeviceId, number>(), signal: new Map<DeviceId, number>() } as const;

  /** `max`: devices of one port; beyond it the one that logged in longest ago has its burst back. */
  constructor(clock: Clock, perSecond: number, max = loginRatesMax) {
    this.#clock = clock;
    this.#intervalMs = 1000 / perSecond;
    this.#burstMs = Math.max(deviceLoginsBurst, perSecond) * this.#intervalMs;
    this.#max = max;
  }

  /** False: the device logs in too fast, and this login does not count. */
  take(kind: ConnectionKind, deviceId: DeviceId): boolean {
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
