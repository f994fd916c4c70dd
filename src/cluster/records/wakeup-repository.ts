/**
 * The wakeups of the last 24 hours, where every node finds them: a row of each under its own id, and two that name the latest
 * of those that bear one request id, of an application and of each device. Source: events.md, Reading; cluster.md.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import {
  decodeLatestWakeup,
  decodeWakeupRecord,
  encodeLatestWakeup,
  encodeWakeupRecord,
  type LatestWakeup,
} from '../../protocol/cluster/stored-values.ts';
import type { DeviceId, WakeupId } from '../../model/ids.ts';
import type { KnownWakeup, WakeupName, WakeupRecord } from '../../model/wakeup.ts';
import { answeredWithin } from '../nats/answered-within.ts';
import { hashedKey } from '../nats/nats-names.ts';
import type { KvEntry, KvStore } from '../nats/kv-store.ts';
import { rowTriesMax } from './row-limits.ts';
import type { Result } from '../../lib/result.ts';

export interface WakeupRepositoryDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly kv: KvStore;
}

type Named = Pick<WakeupName, 'appId' | 'requestId'>;

export class WakeupRepository {
  readonly #deps: WakeupRepositoryDeps;

  constructor(deps: WakeupRepositoryDeps) {
    this.#deps = deps;
  }

  /**
   * Replaces what is there of this wakeup; told twice it changes nothing. `isFirst`: it may be the latest. Rejects with
   * SharedStateUnavailable, and when others are faster every time.
   */
  async put(wakeup: KnownWakeup & { readonly isFirst: boolean }): Promise<void> {
    const { appId, requestId, record, isFirst } = wakeup;
    const { id, deviceId } = record;
    await this.#deps.kv.put(rowKey(wakeup, id), encodeWakeupRecord({ appId, requestId, record }));
    if (!isFirst) return;
    const latest = { appId, requestId, id };
    await Promise.all([
      this.#point(latestKey(wakeup, null), { ...latest, deviceId: null }),
      this.#point(latestKey(wakeup, deviceId), { ...latest, deviceId }),
    ]);
  }

  /** Rejects with SharedStateUnavailable, within `waitMs`. */
  async find(name: WakeupName, waitMs: number): Promise<WakeupRecord | null> {
    const found = await answeredWithin(this.#deps.clock, waitMs, this.#find(name));
    return found;
  }

  async #find(name: WakeupName): Promise<WakeupRecord | null> {
    const { which } = name;
    if (typeof which === 'string') return this.#read(name, which);
    const deviceId = which?.deviceId ?? null;
    const latest = this.#decodeLatest(name, deviceId, await this.#deps.kv.find(latestKey(name, deviceId)));
    return latest === null ? null : this.#read(name, latest.id);
  }

  async #read(name: Named, id: WakeupId): Promise<WakeupRecord | null> {
    const kept = await this.#deps.kv.find(rowKey(name, id));
    const value = this.#decoded(kept, decodeWakeupRecord, 'a shared wakeup cannot be read');
    return value !== null && isOf(value, name) && value.record.id === id ? value.record : null;
  }

  /** Unless a later one is named there. Most request ids are new: one is read only where the write shows that it was not. */
  async #point(key: string, latest: LatestWakeup): Promise<void> {
    const { kv } = this.#deps;
    const value = encodeLatestWakeup(latest);
    let kept: KvEntry | null = null;
    for (let tries = 0; tries < rowTriesMax; tries++) {
      if ((await kv.compareAndSet(key, value, kept?.revision ?? null)) !== null) return;
      kept = await kv.find(key);
      const known = this.#decodeLatest(latest, latest.deviceId, kept);
      if (known !== null && known.id >= latest.id) return;
    }
    throw new Error(`the shared row of a request id was written by others ${rowTriesMax} times in a row`);
  }

  #decodeLatest(name: Named, deviceId: DeviceId | null, kept: KvEntry | null): LatestWakeup | null {
    const sentence = 'the shared row of a request id cannot be read';
    const value = this.#decoded(kept, decodeLatestWakeup, sentence);
    return value !== null && isOf(value, name) && value.deviceId === deviceId ? value : null;
  }

  #decoded<Value>(
    kept: KvEntry | null,
    decode: (bytes: Uint8Array) => Result<Value, string>,
    sentence: string,
  ): Value | null {
    if (kept === null || kept.value.length === 0) return null;
    const decoded = decode(kept.value);
    if (decoded.ok) return decoded.value;
    this.#deps.log.error({ fault: decoded.error }, sentence);
    return null;
  }
}

function isOf(value: Named, { appId, requestId }: Named): boolean {
  return value.appId === appId && value.requestId === requestId;
}

/** Neither an application id nor a request id holds a line feed, and no id is empty. */
function rowKey({ appId, requestId }: Named, id: WakeupId): string {
  return hashedKey(`${appId}\n${requestId}\n${id}`);
}

function latestKey({ appId, requestId }: Named, deviceId: DeviceId | null): string {
  const name = `${appId}\n${requestId}`;
  return hashedKey(deviceId === null ? name : `${name}\n\n${deviceId}`);
}
