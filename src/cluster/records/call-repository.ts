/** The row of each device's calls, where every node finds it: its node, and the calls. Source: cluster.md, Media. */
import type { Clock } from '../../lib/clock.ts';
import {
  decodeDeviceCalls,
  encodeDeviceCalls,
  type StoredCalls,
} from '../../protocol/cluster/stored-values.ts';
import type { DeviceCalls } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { callNodeMsMax } from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import { answeredWithin } from '../nats/answered-within.ts';
import { bucketAnswerMsMax } from '../events/log-limits.ts';
import { deviceHash } from '../nats/nats-names.ts';
import type { KvStore, KvEntry } from '../nats/kv-store.ts';

export interface FoundCalls extends DeviceCalls {
  /** The revision that `put` expects: one of two concurrent changes of the row is refused. */
  readonly revision: number;
}

/** Each rejects with SharedStateUnavailable. */
export class CallRepository {
  readonly #deps: { readonly kv: KvStore; readonly clock: Clock; readonly log: Log };

  constructor(deps: { readonly kv: KvStore; readonly clock: Clock; readonly log: Log }) {
    this.#deps = deps;
  }

  /** Null: the device has had no call. */
  async find(deviceId: DeviceId): Promise<FoundCalls | null> {
    const { kv, clock } = this.#deps;
    const found = await answeredWithin(clock, callNodeMsMax, kv.find(deviceHash(deviceId)));
    const stored = found && this.#read(found);
    return stored?.deviceId === deviceId ? { ...stored.calls, revision: found?.revision ?? 0 } : null;
  }

  /** `revision` null: there is no row yet. False: another was faster. */
  async put(deviceId: DeviceId, calls: DeviceCalls, revision: number | null): Promise<boolean> {
    const { kv, clock } = this.#deps;
    const put = kv.compareAndSet(deviceHash(deviceId), encodeDeviceCalls(deviceId, calls), revision);
    return (await answeredWithin(clock, bucketAnswerMsMax, put)) !== null;
  }

  async *all(): AsyncGenerator<StoredCalls, void, undefined> {
    for await (const entry of this.#deps.kv.all()) {
      const stored = this.#read(entry);
      if (stored !== null) yield stored;
    }
  }

  #read({ value }: KvEntry): StoredCalls | null {
    const decoded = decodeDeviceCalls(value);
    if (decoded.ok) return decoded.value;
    this.#deps.log.error({ fault: decoded.error }, 'the shared calls of a device cannot be read');
    return null;
  }
}
