/** The wakeups of the last 24 hours, where every node finds them: a repeat may come anywhere. Source: decisions.md, Repeats. */
import type { Clock } from '../../lib/clock.ts';
import { decodeWakeupRecord, encodeWakeupRecord } from '../../protocol/cluster/stored-values.ts';
import type { ApplicationId, RequestId } from '../../model/ids.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import type { Log } from '../../core/ports/log.ts';
import { answeredWithin } from '../nats/answered-within.ts';
import { hashedKey } from '../nats/nats-names.ts';
import type { KvStore } from '../nats/kv-store.ts';

export class WakeupRepository {
  readonly #deps: { readonly kv: KvStore; readonly clock: Clock; readonly log: Log };

  constructor(deps: { readonly kv: KvStore; readonly clock: Clock; readonly log: Log }) {
    this.#deps = deps;
  }

  /** Replaces what is there; told twice it changes nothing. Rejects with SharedStateUnavailable. */
  async put(appId: ApplicationId, requestId: RequestId, record: WakeupRecord): Promise<void> {
    await this.#deps.kv.put(keyOf(appId, requestId), encodeWakeupRecord({ appId, requestId, record }));
  }

  /** Rejects with SharedStateUnavailable, within `waitMs`. */
  async find(appId: ApplicationId, requestId: RequestId, waitMs: number): Promise<WakeupRecord | null> {
    const { kv, clock, log } = this.#deps;
    const found = await answeredWithin(clock, waitMs, kv.find(keyOf(appId, requestId)));
    if (found === null) return null;
    const decoded = decodeWakeupRecord(found.value);
    if (!decoded.ok) {
      log.error({ fault: decoded.error }, 'a shared wakeup cannot be read');
      return null;
    }
    const { value } = decoded;
    return value.appId === appId && value.requestId === requestId ? value.record : null;
  }
}

/** Neither holds a line feed. */
function keyOf(appId: ApplicationId, requestId: RequestId): string {
  return hashedKey(`${appId}\n${requestId}`);
}
