/**
 * The heartbeats of each member's sessions, which it writes in parts. Other members read them when the member does not answer, and fail
 * its sessions over when it is lost. Source: cluster.md, Record and Node loss.
 */
import { LRUCache } from 'lru-cache';
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Clock, Cancel } from '../../lib/clock.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { heartbeatsParts, heartbeatsWriteMs } from '../../model/limits.ts';
import type { KvStore } from '../nats/kv-store.ts';
import { memberToken } from '../nats/nats-names.ts';
import { heartbeatsPartOf, type LiveSessions, type OwnSlot, type OwnSlots } from './own-slots.ts';
import {
  heartbeatPartKeptMs,
  heartbeatPartsKeptMax,
  heartbeatPieceBytesMax,
  heartbeatPiecesMax,
} from '../records/row-limits.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import {
  decodeHeartbeats,
  encodeHeartbeats,
  type DeviceHeartbeat,
} from '../../protocol/cluster/stored-values.ts';

/** The bucket that members write their heartbeats into. */
export type HeartbeatStore = Pick<KvStore, 'find' | 'put' | 'eraseAll'>;

export type HeartbeatPart = Omit<HeartbeatPiece, 'pieces'>;

interface KeptPart {
  readonly readAtMs: number;
  readonly heartbeats: Promise<ReadonlyMap<SessionId, number>>;
}

/** Reads the heartbeats of other members. Many read those of a member that hangs at once, so its parts are kept for a moment. */
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

  /** Yields the parts that exist and can be read. Rejects while NATS is unavailable. */
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

/**
 * One part of a member's heartbeats, as the values that are kept of it: one, or several where it is large. Each says of
 * which position among the rows the part is, and how many pieces there are: 1 byte version, 6 position, 2 pieces, then
 * the heartbeats.
 */
interface HeartbeatPiece {
  /** Slots taken in rows up to this revision are in the part, if they are not left again. */
  readonly position: number;
  readonly pieces: number;
  readonly heartbeats: readonly DeviceHeartbeat[];
}

const pieceVersion = 1;
const headBytes = 9;
/** Size limit of a heartbeat without its ids. */
const heartbeatBytesMax = 64;

/** At least one piece. Heartbeats beyond `heartbeatPiecesMax` pieces are omitted, and others know older ones. */
export function encodePieces(position: number, heartbeats: readonly DeviceHeartbeat[]): Uint8Array[] {
  const lists = cut(heartbeats).slice(0, heartbeatPiecesMax);
  return lists.map((list) => {
    const head = Buffer.alloc(headBytes);
    head.writeUInt8(pieceVersion);
    head.writeUIntBE(position, 1, 6);
    head.writeUInt16BE(lists.length, 7);
    return Buffer.concat([head, encodeHeartbeats(list)]);
  });
}

/** Or what is wrong with the bytes. */
export function decodePiece(bytes: Uint8Array): Result<HeartbeatPiece, string> {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < headBytes) return fail(`${bytes.length} bytes`);
  if (head.readUInt8() !== pieceVersion) return fail(`version ${head.readUInt8()}`);
  const pieces = head.readUInt16BE(7);
  if (pieces === 0 || pieces > heartbeatPiecesMax) return fail(`${pieces} pieces`);
  const heartbeats = decodeHeartbeats(bytes.subarray(headBytes));
  if (!heartbeats.ok) return heartbeats;
  return succeed({ position: head.readUIntBE(1, 6), pieces, heartbeats: heartbeats.value });
}

function cut(heartbeats: readonly DeviceHeartbeat[]): DeviceHeartbeat[][] {
  let piece: DeviceHeartbeat[] = [];
  const pieces = [piece];
  let bytes = headBytes + heartbeatBytesMax;
  for (const heartbeat of heartbeats) {
    const more = Buffer.byteLength(heartbeat.deviceId) + heartbeat.session.length + heartbeatBytesMax;
    if (bytes + more > heartbeatPieceBytesMax) {
      pieces.push((piece = []));
      bytes = headBytes + heartbeatBytesMax;
    }
    piece.push(heartbeat);
    bytes += more;
  }
  return pieces;
}

export interface HeartbeatWriterDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly self: MemberId;
  readonly rows: Pick<KvStore, 'position'>;
  readonly heartbeats: Pick<KvStore, 'put' | 'eraseAll'>;
  readonly ownSlots: OwnSlots;
  readonly sessions: LiveSessions;
  readonly isUnavailable: () => boolean;
  /** Slots of sessions that are not here any more. */
  readonly lookAfter: (slots: readonly OwnSlot[]) => void;
}

/**
 * Writes down this member's own, one part after the other, all of them every `heartbeatsWriteMs`. A part says how far the
 * rows were when it was made; before the first round is through, how far they were before anything was claimed here.
 */
export class HeartbeatWriter {
  readonly #deps: HeartbeatWriterDeps;
  readonly #token: string;
  /** Position of the rows before this member claimed anything. */
  #firstPosition = 0;
  #written = 0;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  #isTroubled = false;
  #cancel: Cancel = () => undefined;

  constructor(deps: HeartbeatWriterDeps) {
    this.#deps = deps;
    this.#token = memberToken(deps.self);
  }

  /** Before anything is claimed. Rejects while NATS is unavailable, and may be called again. */
  async begin(): Promise<void> {
    this.#firstPosition = await this.#deps.rows.position();
    await this.#writeNext();
    this.#cancel();
    this.#cancel = this.#deps.clock.every(heartbeatsWriteMs / heartbeatsParts, () => this.#tick());
  }

  /** Stops writing; the written heartbeats stay. */
  stop(): Promise<void> {
    this.#cancel();
    return this.#writing;
  }

  /** After the last session: there is nothing to fail over. Rejects while NATS is unavailable. */
  async remove(): Promise<void> {
    await this.stop();
    await this.#deps.heartbeats.eraseAll(this.#token);
  }

  /** A part that could not be written is the next one: none is passed over. */
  #tick(): void {
    if (this.#isWriting || this.#deps.isUnavailable()) return;
    this.#isWriting = true;
    this.#writing = this.#writeOne();
  }

  async #writeOne(): Promise<void> {
    try {
      await this.#writeNext();
      this.#isTroubled = false;
    } catch (error) {
      if (!this.#isTroubled)
        this.#deps.log.warn({ err: error }, 'heartbeats cannot be written; the next interval retries');
      this.#isTroubled = true;
    } finally {
      this.#isWriting = false;
    }
  }

  async #writeNext(): Promise<void> {
    const { rows, heartbeats } = this.#deps;
    const position = this.#written < heartbeatsParts ? this.#firstPosition : await rows.position();
    const part = this.#written % heartbeatsParts;
    const pieces = encodePieces(position, this.#heartbeatsOf(part));
    // The first piece last: it says how many there are.
    for (const [index, bytes] of Array.from(pieces.entries()).toReversed())
      await heartbeats.put(pieceKey(this.#token, part, index), bytes);
    this.#written += 1;
  }

  #heartbeatsOf(part: number): DeviceHeartbeat[] {
    const { ownSlots, sessions, lookAfter } = this.#deps;
    const heartbeats: DeviceHeartbeat[] = [];
    const gone: OwnSlot[] = [];
    for (const slot of ownSlots.part(part)) {
      const { deviceId, connection, session } = slot;
      const live = sessions.find(deviceId, connection);
      const heartbeatAt = live?.session === session ? live.heartbeatAt : 0;
      heartbeats.push({ deviceId, connection, session, heartbeatAt });
      if (live?.session !== session) gone.push(slot);
    }
    lookAfter(gone);
    return heartbeats;
  }
}

function pieceKey(token: string, part: number, index: number): string {
  return `${token}.${part}.${index}`;
}
