/**
 * Which devices are here, each with its actor. An actor exists while it holds a session; a device that is not
 * found has its record in the store.
 */
import type { ConnectionRecord } from '../domain/connectivity.ts';
import { neverConnected } from '../domain/connectivity.ts';
import type { DeviceId } from '../domain/ids.ts';
import type { ConnectionRecords } from '../ports/connection-records.ts';
import { DeviceActor, type ActorHouse } from './device-actor.ts';

export class DeviceDirectory implements ActorHouse {
  readonly #actors = new Map<DeviceId, DeviceActor>();
  readonly #records: ConnectionRecords;

  constructor(records: ConnectionRecords) {
    this.#records = records;
  }

  get size(): number {
    return this.#actors.size;
  }

  find(deviceId: DeviceId): DeviceActor | null {
    return this.#actors.get(deviceId) ?? null;
  }

  /** The device's actor, made from its record if it has none. Throws when the store cannot be read. */
  claim(deviceId: DeviceId): DeviceActor {
    const known = this.#actors.get(deviceId);
    if (known !== undefined) return known;
    const actor = new DeviceActor(deviceId, this.#records.read(deviceId) ?? neverConnected, this);
    this.#actors.set(deviceId, actor);
    return actor;
  }

  /** In the order of their making; safe against makings and releases on the way. */
  actors(): IterableIterator<DeviceActor> {
    return this.#actors.values();
  }

  save(deviceId: DeviceId, record: ConnectionRecord): void {
    this.#records.write(deviceId, record);
  }

  release(actor: DeviceActor): void {
    if (this.#actors.get(actor.deviceId) === actor) this.#actors.delete(actor.deviceId);
  }
}
