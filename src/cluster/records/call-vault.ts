/** Live calls, where every node finds them: who keeps a device's, and what they are. Source: cluster.md, Media. */
import type { Clock } from '../../lib/clock.ts';
import { decodeDeviceCalls, encodeDeviceCalls, type DeviceCalls } from '../../protocol/cluster/stored-values.ts';
import type { DeviceCallsKept } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { CallKeepers, KeptCalls } from '../../core/ports/call-keepers.ts';
import type { Log } from '../../core/ports/log.ts';
import { answeredWithin } from '../ipc/answered-within.ts';
import { bucketAnswerMsMax } from '../events/log-limits.ts';
import { deviceHash } from '../nats/nats-names.ts';
import type { Shelf, ShelfEntry } from '../nats/shelf.ts';

export class CallVault implements CallKeepers {
  readonly #house: { readonly shelf: Shelf; readonly clock: Clock; readonly log: Log };

  constructor(house: { readonly shelf: Shelf; readonly clock: Clock; readonly log: Log }) {
    this.#house = house;
  }

  async find(deviceId: DeviceId, waitMs: number): Promise<KeptCalls | null> {
    const { shelf, clock } = this.#house;
    const found = await answeredWithin(clock, waitMs, shelf.find(deviceHash(deviceId)));
    const calls = found && this.#read(found);
    if (found === null || calls === null || calls.deviceId !== deviceId) return null;
    return { ...calls, revision: found.revision };
  }

  async put(
    deviceId: DeviceId,
    kept: DeviceCallsKept,
    revision: number | null,
  ): Promise<'done' | 'conflict'> {
    const { shelf, clock } = this.#house;
    const value = encodeDeviceCalls({ deviceId, ...kept });
    const put = shelf.compareAndSet(deviceHash(deviceId), value, revision);
    return (await answeredWithin(clock, bucketAnswerMsMax, put)) === null ? 'conflict' : 'done';
  }

  async *all(): AsyncGenerator<KeptCalls & { readonly deviceId: DeviceId }, void, undefined> {
    for await (const entry of this.#house.shelf.all()) {
      const calls = this.#read(entry);
      if (calls !== null && calls.sessions.length > 0) yield { ...calls, revision: entry.revision };
    }
  }

  #read({ value }: ShelfEntry): DeviceCalls | null {
    const decoded = decodeDeviceCalls(value);
    if (decoded.ok) return decoded.value;
    this.#house.log.error({ fault: decoded.error }, 'the shared calls of a device cannot be read');
    return null;
  }
}
