/**
 * The slots that this member's sessions have in what all share, or may have: written down before a row is, and struck
 * off after it, so that what is not here certainly has none. As many as there are sessions here, which listeners bound.
 * In the parts in which heartbeats are written down.
 */
import type { ConnectionKind, SessionName } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { heartbeatsParts } from '../../model/limits.ts';
import type { SessionHeartbeat } from '../../protocol/cluster/member-values.ts';
import { deviceHash } from '../nats/nats-names.ts';

export interface OwnSlot extends SessionName {
  /** Wall milliseconds. */
  readonly loginAtMs: number;
  /** What its login was told by here, before it had a slot. */
  readonly provisionalEpoch: number;
  /** 0: it is being claimed. */
  readonly epoch: number;
}

export class OwnSlots {
  readonly #parts = Array.from({ length: heartbeatsParts }, () => new Map<SessionId, OwnSlot>());

  put(slot: OwnSlot): void {
    this.#partOf(slot.deviceId).set(slot.session, slot);
  }

  find(deviceId: DeviceId, session: SessionId): OwnSlot | null {
    return this.#partOf(deviceId).get(session) ?? null;
  }

  delete(deviceId: DeviceId, session: SessionId): void {
    this.#partOf(deviceId).delete(session);
  }

  part(index: number): Iterable<OwnSlot> {
    return this.#parts[index]?.values() ?? [];
  }

  /** Safe against changes on the way. */
  *all(): Generator<OwnSlot, void, undefined> {
    for (const part of this.#parts) yield* part.values();
  }

  #partOf(deviceId: DeviceId): Map<SessionId, OwnSlot> {
    return this.#parts[heartbeatsPartOf(deviceId)] ?? new Map<SessionId, OwnSlot>();
  }
}

export function heartbeatsPartOf(deviceId: DeviceId): number {
  const first = Buffer.from(deviceHash(deviceId), 'base64url')[0] ?? 0;
  return first % heartbeatsParts;
}

export interface LiveSessions {
  /** Null: the device has none here. */
  find(deviceId: DeviceId, connection: ConnectionKind): SessionHeartbeat | null;
}
