/**
 * Durable live call sessions: a device's remaining sessions and the event of the change are committed together. Source:
 * calls-and-media.md, Call sessions and call status; decisions.md, Durable.
 */
import type { CallSession } from '../../model/call.ts';
import type { EventDraft } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { CallRecords } from '../../core/ports/records.ts';
import { decodeCalls, encodeCalls, type CallTable } from './call-rows.ts';
import type { Journal } from '../journal/journal.ts';
import { JournalSlot } from '../journal/journal-slot.ts';
import type { CallsTransition } from '../journal/transition.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

export interface DeviceCalls {
  readonly deviceId: DeviceId;
  readonly sessions: readonly CallSession[];
}

export class CallRecordStore implements CallRecords {
  readonly #table: CallTable;
  readonly #journal: Journal;
  readonly #slot: JournalSlot<CallsTransition>;

  constructor(state: StateTables, journal: Journal) {
    this.#table = state.calls;
    this.#journal = journal;
    this.#slot = new JournalSlot(journal, (key, { sessions }, isLast) => {
      if (isLast) this.#put(key, sessions);
    });
  }

  read(deviceId: DeviceId): readonly CallSession[] {
    return this.#slot.get(deviceId)?.sessions ?? this.#findStored(deviceId);
  }

  /** Writes with an event commit at the end of the turn. Others collect until the issuer of credentials awaits `committed`. */
  write(deviceId: DeviceId, sessions: readonly CallSession[], event: EventDraft | null): void {
    this.#slot.write(deviceId, { kind: 'calls', deviceId, sessions, event }, event !== null);
  }

  committed(deviceId: DeviceId): Promise<void> | null {
    return this.#slot.committed(deviceId);
  }

  /** All devices as of the first step: later writes yield no device twice. */
  *all(): Generator<DeviceCalls, void, undefined> {
    const uncommitted = new Map(this.#slot.entries());
    for (const { key, value } of this.#table.getRange()) {
      const deviceId = key.toString() as DeviceId;
      if (!uncommitted.has(deviceId)) yield { deviceId, sessions: decodeCalls(deviceId, value) };
    }
    for (const { deviceId, sessions } of uncommitted.values())
      if (sessions.length > 0) yield { deviceId, sessions };
  }

  isOverloaded(): boolean {
    return this.#journal.isOverloaded;
  }

  #findStored(deviceId: DeviceId): readonly CallSession[] {
    const row = this.#table.get(Buffer.from(deviceId));
    return row === undefined ? [] : decodeCalls(deviceId, row);
  }

  #put(key: string, sessions: readonly CallSession[]): void {
    if (sessions.length === 0) void this.#table.remove(Buffer.from(key));
    else void this.#table.put(Buffer.from(key), encodeCalls(sessions));
  }
}
