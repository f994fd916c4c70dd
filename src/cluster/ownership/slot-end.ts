/** The end of one session in what all members share; it can be told again, and finds what it did. Source: cluster.md. */
import { reduceShared, type SharedEvent } from '../../model/state/shared-connection.ts';
import type { ConnectionKind, SessionSlot, SharedConnection } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { ChangedRow, DeviceRows } from '../records/device-rows.ts';

export interface EndedSession {
  readonly connection: ConnectionKind;
  readonly deviceId: DeviceId;
  readonly session: SessionId;
  /** Wall milliseconds. */
  readonly atMs: number;
  /** Unix seconds; 0: none. */
  readonly heartbeatAt: number;
  /** It may have been told before a crash. */
  readonly isRepeat: boolean;
}

export type EndedSlot = Pick<SessionSlot, 'epoch'> & Partial<Pick<SessionSlot, 'member' | 'recovered'>>;

export class SlotEnd {
  readonly #rows: DeviceRows;
  readonly #ended: EndedSession;
  /** Struck off by what may hold. */
  #tried: SessionSlot | null = null;
  #mayHold: boolean;

  constructor(rows: DeviceRows, ended: EndedSession) {
    this.#rows = rows;
    this.#ended = ended;
    this.#mayHold = ended.isRepeat;
  }

  /** The slot it had, as far as it is known; null: it had none, and its end was told or is none. Rejects like a change of a row. */
  async settle(): Promise<EndedSlot | null> {
    const { deviceId, connection, session, atMs, heartbeatAt } = this.#ended;
    const event: SharedEvent = { kind: 'ended', session, atMs, heartbeatAt };
    let changed: ChangedRow;
    try {
      changed = await this.#rows.change(deviceId, connection, (row) => {
        const step = reduceShared(connection, row, event);
        if (step.outcome.kind === 'left') this.#tried = step.outcome.slot;
        return step;
      });
    } catch (error) {
      this.#mayHold ||= this.#tried !== null;
      throw error;
    }
    if (changed.outcome.kind === 'left') return changed.outcome.slot;
    return this.#mayHold ? this.#found(changed.row) : null;
  }

  /** The row says that a session ended at this very time: it was this one, and its event may not have been told. */
  #found(row: SharedConnection): EndedSlot | null {
    if (row.lastOfflineAt !== Math.floor(this.#ended.atMs / 1000)) return null;
    if (this.#tried !== null) return this.#tried;
    return row.slots.length === 0 ? { epoch: row.epoch } : null;
  }
}
