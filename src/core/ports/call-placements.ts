/** Which member keeps a device's calls, as all members see it. Source: cluster.md, Media. */
import type { DeviceCallsKept } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';

export interface KeptCalls extends DeviceCallsKept {
  /** What `put` expects, so that of two who change it one does. */
  readonly revision: number;
}

export interface CallPlacements {
  /** Null: the device has no call, and nobody keeps any. Rejects with SharedStateUnavailable, within `waitMs`. */
  find(deviceId: DeviceId, waitMs: number): Promise<KeptCalls | null>;
  /** `revision` null: there is none yet. Rejects with SharedStateUnavailable. */
  put(deviceId: DeviceId, kept: DeviceCallsKept, revision: number | null): Promise<'done' | 'conflict'>;
  /** Every device that has calls. Rejects with SharedStateUnavailable. */
  all(): AsyncIterable<KeptCalls & { readonly deviceId: DeviceId }>;
}
