/** The latest uncommitted wakeup of each request id and application, and of each device if such a name is of several. */
import { RenewedMap } from '../../lib/collections/renewed-map.ts';
import type { DeviceId, WakeupId } from '../../model/ids.ts';

interface Latest {
  id: WakeupId;
  readonly deviceId: DeviceId;
  /** The latest of each device; null: all are of `deviceId`, as nearly always. */
  ofDevices: Map<DeviceId, WakeupId> | null;
}

export class UncommittedNames {
  readonly #latest = new RenewedMap<string, Latest>();

  /** `deviceId` null: of any device. */
  find(name: string, deviceId: DeviceId | null): WakeupId | null {
    const latest = this.#latest.get(name);
    if (latest === undefined) return null;
    if (deviceId === null) return latest.id;
    if (latest.ofDevices !== null) return latest.ofDevices.get(deviceId) ?? null;
    return latest.deviceId === deviceId ? latest.id : null;
  }

  add(name: string, deviceId: DeviceId, id: WakeupId): void {
    const latest = this.#latest.get(name);
    if (latest === undefined) {
      this.#latest.set(name, { id, deviceId, ofDevices: null });
      return;
    }
    if (latest.ofDevices !== null || latest.deviceId !== deviceId) {
      latest.ofDevices ??= new Map([[latest.deviceId, latest.id]]);
      latest.ofDevices.set(deviceId, later(latest.ofDevices.get(deviceId), id));
    }
    latest.id = later(latest.id, id);
  }

  /** Call when it is committed: reads of the store find it. */
  remove(name: string, deviceId: DeviceId, id: WakeupId): void {
    const latest = this.#latest.get(name);
    if (latest === undefined) return;
    const { ofDevices } = latest;
    if (ofDevices?.get(deviceId) === id) ofDevices.delete(deviceId);
    if (ofDevices === null ? latest.id === id : ofDevices.size === 0) this.#latest.delete(name);
  }
}

function later(one: WakeupId | undefined, other: WakeupId): WakeupId {
  return one !== undefined && one > other ? one : other;
}
