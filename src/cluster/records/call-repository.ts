/** Live calls, where every node finds them: who keeps a device's, and what they are. Source: cluster.md, Media. */
import type { Clock } from '../../lib/clock.ts';
import {
  decodeDeviceCalls,
  encodeDeviceCalls,
  type DeviceCalls,
} from '../../protocol/cluster/stored-values.ts';
import type { DeviceCallsKept } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { CallPlacements, KeptCalls } from '../../core/ports/records.ts';
import type { Log } from '../../core/ports/log.ts';
import { answeredWithin } from '../nats/answered-within.ts';
import { bucketAnswerMsMax } from '../events/log-limits.ts';
import { deviceHash } from '../nats/nats-names.ts';
import type { KvStore, KvEntry } from '../nats/kv-store.ts';

export class CallRepository implements CallPlacements {
  readonly #deps: { readonly kv: KvStore; readonly clock: Clock; readonly log: Log };

  constructor(deps: { readonly kv: KvStore; readonly clock: Clock; readonly log: Log }) {
    this.#deps = deps;
  }

  async find(deviceId: DeviceId, waitMs: number): Promise<KeptCalls | null> {
    const { kv, clock } = this.#deps;
    const found = await answeredWithin(clock, waitMs, kv.find(deviceHash(deviceId)));
    const calls = found && this.#read(found);
    if (found === null || calls === null || calls.deviceId !== deviceId) return null;
    return { ...calls, revision: found.revision };
  }

  async put(
    deviceId: DeviceId,
    kept: DeviceCallsKept,
    revision: number | null,
  ): Promise<'done' | 'conflict'> {
    const { kv, clock } = this.#deps;
    const value = encodeDeviceCalls({ deviceId, ...kept });
    const put = kv.compareAndSet(deviceHash(deviceId), value, revision);
    return (await answeredWithin(clock, bucketAnswerMsMax, put)) === null ? 'conflict' : 'done';
  }

  async *all(): AsyncGenerator<KeptCalls & { readonly deviceId: DeviceId }, void, undefined> {
    for await (const entry of this.#deps.kv.all()) {
      const calls = this.#read(entry);
      if (calls !== null && calls.sessions.length > 0) yield { ...calls, revision: entry.revision };
    }
  }

  #read({ value }: KvEntry): DeviceCalls | null {
    const decoded = decodeDeviceCalls(value);
    if (decoded.ok) return decoded.value;
    this.#deps.log.error({ fault: decoded.error }, 'the shared calls of a device cannot be read');
    return null;
  }
}
