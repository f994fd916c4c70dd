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
/** Devices kept before the first look at which of them have a full burst again. */
const unsweptMax = 256;

export class LoginRates {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #burstMs: number;
  readonly #max: number;
  readonly #known = { sleep: new Bursts(), signal: new Bursts() } as const;

  /** `max`: devices per port; beyond it the half that has been known for longer regains its bursts. */
  constructor(clock: Clock, perSecond: number, max = loginRatesMax) {
    this.#clock = clock;
    this.#intervalMs = 1000 / perSecond;
    this.#burstMs = Math.max(deviceLoginsBurst, perSecond) * this.#intervalMs;
    this.#max = max;
  }

  /** Counts a login. False: too fast, and not counted. */
  acquire(kind: ConnectionKind, deviceId: DeviceId): boolean {
    const nowMs = Math.ceil(this.#clock.monotonicMs());
    const known = this.#known[kind];
    const fullAtMs = Math.ceil(Math.max(nowMs, known.fullAtMs.get(deviceId) ?? 0) + this.#intervalMs);
    if (fullAtMs - nowMs > Math.ceil(this.#burstMs)) return false;
    known.fullAtMs.set(deviceId, fullAtMs);
    if (known.fullAtMs.size > known.sweptAt) known.sweep(nowMs, this.#max);
    return true;
  }
}

class Bursts {
  /** Monotonic milliseconds, whole, at which a device's burst is full again. */
  fullAtMs = new Map<DeviceId, number>();
  /** Number of devices beyond which those with a full burst are removed. */
  sweptAt = 0;

  /** Copies what it keeps: from a Map with many removed entries, even reading the first one is slow. */
  sweep(nowMs: number, max: number): void {
    const known = this.fullAtMs;
    const excess = known.size > max ? known.size - Math.ceil(max / 2) : 0;
    this.fullAtMs = new Map();
    let passed = 0;
    for (const [deviceId, fullAtMs] of known) {
      passed += 1;
      if (passed > excess && fullAtMs > nowMs) this.fullAtMs.set(deviceId, fullAtMs);
    }
    this.sweptAt = Math.min(max, Math.max(unsweptMax, 2 * this.fullAtMs.size));
  }
}
