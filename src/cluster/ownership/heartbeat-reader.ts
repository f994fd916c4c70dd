/**
 * Heartbeats of other members, as these have written them down. A member that hangs is asked about by many at once: its
 * parts are kept for a moment. Source: cluster.md, Record.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/clock.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { heartbeatsParts } from '../../model/limits.ts';
import { decodePiece, type HeartbeatPiece } from './heartbeat-pieces.ts';
import { pieceKey } from './heartbeat-writer.ts';
import type { KvStore } from '../nats/kv-store.ts';
import { memberToken } from '../nats/nats-names.ts';
import { heartbeatsPartOf } from './own-slots.ts';
import { heartbeatPartKeptMs, heartbeatPartsKeptMax } from '../records/row-limits.ts';

/** The bucket that members write their heartbeats into. */
export type HeartbeatStore = Pick<KvStore, 'find' | 'put' | 'eraseAll'>;

export type HeartbeatPart = Omit<HeartbeatPiece, 'pieces'>;

interface KeptPart {
  readonly readAtMs: number;
  readonly heartbeats: Promise<ReadonlyMap<SessionId, number>>;
}

export class HeartbeatReader {
  readonly #kv: HeartbeatStore;
  readonly #clock: Clock;
  readonly #kept = new LRUCache<string, KeptPart>({ max: heartbeatPartsKeptMax });

  constructor(kv: HeartbeatStore, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  /** Unix seconds; 0: none is written down. Rejects while NATS is unavailable. */
  async heartbeatOf(member: MemberId, deviceId: DeviceId, session: SessionId): Promise<number> {
    const heartbeats = await this.#heartbeats(memberToken(member), heartbeatsPartOf(deviceId));
    return heartbeats.get(session) ?? 0;
  }

  /** Those that are there and can be read. Rejects while NATS is unavailable. */
  async *parts(member: MemberId): AsyncGenerator<HeartbeatPart, void, undefined> {
    const token = memberToken(member);
    for (let part = 0; part < heartbeatsParts; part++) {
      const found = await this.#read(token, part);
      if (found !== null) yield found;
    }
  }

  /** After its member is failed over. Rejects while NATS is unavailable. */
  remove(member: MemberId): Promise<void> {
    return this.#kv.eraseAll(memberToken(member));
  }

  #heartbeats(token: string, part: number): Promise<ReadonlyMap<SessionId, number>> {
    const key = `${token}.${part}`;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#kept.get(key);
    if (known !== undefined && nowMs - known.readAtMs < heartbeatPartKeptMs) return known.heartbeats;
    const heartbeats = this.#read(token, part).then(
      (found) => new Map(found?.heartbeats.map(({ session, heartbeatAt }) => [session, heartbeatAt])),
    );
    this.#kept.set(key, { readAtMs: nowMs, heartbeats });
    heartbeats.catch(() => this.#kept.delete(key));
    return heartbeats;
  }

  async #read(token: string, part: number): Promise<HeartbeatPart | null> {
    const first = await this.#piece(token, part, 0);
    if (first === null) return null;
    const heartbeats = [...first.heartbeats];
    let { position } = first;
    for (let index = 1; index < first.pieces; index++) {
      const piece = await this.#piece(token, part, index);
      position = Math.min(position, piece?.position ?? 0);
      heartbeats.push(...(piece?.heartbeats ?? []));
    }
    return { position, heartbeats };
  }

  /** One that cannot be read says nothing of the rows before: its position is 0. */
  async #piece(token: string, part: number, index: number): Promise<HeartbeatPiece | null> {
    const kept = await this.#kv.find(pieceKey(token, part, index));
    if (kept === null) return null;
    const piece = decodePiece(kept.value);
    return piece.ok ? piece.value : { position: 0, pieces: 1, heartbeats: [] };
  }
}
