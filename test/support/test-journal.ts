/** A journal over a test's store, on a driven clock, with commits that a test can script. */
import type { DeviceId, RequestId, ProductId } from '../../src/model/ids.ts';
import type { EventDraft } from '../../src/model/events.ts';
import { EventStore } from '../../src/storage/events/event-store.ts';
import { Committer } from '../../src/storage/journal/committer.ts';
import { Journal, type JournalDeps } from '../../src/storage/journal/journal.ts';
import { JournalSlot } from '../../src/storage/journal/journal-slot.ts';
import { OwnRecords } from '../../src/storage/journal/own-records.ts';
import type { CallsTransition } from '../../src/storage/journal/transition.ts';
import { StoredEvents } from '../../src/storage/events/stored-events.ts';
import type { VisibilityWatch } from '../../src/storage/lmdb/environment.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeLog } from './fakes.ts';

/** Commits a batch; a test may script it instead of an LMDB environment. */
export type Batch = (write: () => void, watch: VisibilityWatch | null) => Promise<void>;

export interface TestJournalSettings extends Partial<Omit<JournalDeps, 'committer'>> {
  readonly batch?: Batch;
  readonly log?: FakeLog;
}

export interface TestJournal {
  readonly journal: EventJournal;
  readonly events: WritableLog;
  readonly stored: StoredEvents;
}

export class EventJournal extends Journal {
  readonly #events = new JournalSlot<CallsTransition>(this, () => undefined);

  append(event: EventDraft): void {
    const { deviceId } = event;
    this.#events.write(deviceId, { kind: 'calls', deviceId, sessions: [], event }, true);
  }
}

/** A log that is appended to through its journal. */
export class WritableLog extends EventStore {
  readonly #journal: EventJournal;

  constructor(stored: StoredEvents, journal: EventJournal, log: FakeLog) {
    super(stored, journal, log);
    this.#journal = journal;
  }

  append(event: EventDraft): void {
    this.#journal.append(event);
  }
}

export function openJournal(
  { state }: Pick<Store, 'state'>,
  settings: TestJournalSettings = {},
): TestJournal {
  const { environment } = state;
  const { log = new FakeLog(), batch = (write, watch) => environment.transaction(write, watch) } = settings;
  const transactions = { transaction: batch, refresh: () => environment.refresh() };
  const journal = new EventJournal({
    clock: new DrivenClock(),
    productOf: () => 'doorbell' as ProductId,
    backlogMax: 100_000,
    ...settings,
    committer: new Committer(transactions, new OwnRecords(state)),
  });
  const stored = new StoredEvents(state);
  return { journal, events: new WritableLog(stored, journal, log), stored };
}

/** An event without a record; `number` is in its data and identifies it. */
export function draftOf(deviceId: string, number = 1, atMs = 1_800_000_000_000): EventDraft {
  return {
    type: 'device.wakeup.expired',
    data: { request_id: `ring-${number}` as RequestId },
    deviceId: deviceId as DeviceId,
    atMs,
    epoch: null,
  };
}
