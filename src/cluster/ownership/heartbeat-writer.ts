/**
 * Writes down where this member's sessions are and when they were last heard of, one part after the other, all of them
 * every `heartbeatsWriteMs`: what others know when this one cannot be asked, and what they fail over when it is lost. A part says
 * how far the rows were when it was made; before the first round is through, how far they were before anything was
 * claimed here. Source: cluster.md, Record and Node loss.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { DeviceHeartbeat } from '../../protocol/cluster/stored-values.ts';
import type { MemberId } from '../../model/cluster.ts';
import { heartbeatsParts, heartbeatsWriteMs } from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';
import { encodePieces } from './heartbeat-pieces.ts';
import type { LiveSessions, OwnSlot, OwnSlots } from './own-slots.ts';
import type { KvStore } from '../nats/kv-store.ts';
import { memberToken } from '../nats/nats-names.ts';

export interface HeartbeatWriterDeps {
  readonly self: MemberId;
  readonly clock: Clock;
  readonly log: Log;
  readonly rows: Pick<KvStore, 'position'>;
  readonly heartbeats: Pick<KvStore, 'put' | 'eraseAll'>;
  readonly ownSlots: OwnSlots;
  readonly sessions: LiveSessions;
  readonly isUnavailable: () => boolean;
  /** Slots of sessions that are not here any more. */
  readonly lookAfter: (slots: readonly OwnSlot[]) => void;
}

export class HeartbeatWriter {
  readonly #deps: HeartbeatWriterDeps;
  readonly #token: string;
  /** Of the rows, before this member claimed anything. */
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

  /** What is written down stays. */
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
        this.#deps.log.warn({ err: error }, 'heartbeats cannot be written down; tried on');
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

export function pieceKey(token: string, part: number, index: number): string {
  return `${token}.${part}.${index}`;
}
