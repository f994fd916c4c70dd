/** A journal over a store of a test: by a driven clock, and committed when the test says so if it scripts that. */
import type { DeviceId, RequestId, ProductId } from '../../src/model/ids.ts';
import type { EventDraft } from '../../src/model/events.ts';
import { EventStore } from '../../src/storage/events/event-store.ts';
import { EventWriter } from '../../src/storage/events/event-writer.ts';
import { LocalCommitter, type Batch } from '../../src/storage/journal/committer.ts';
import { Journal, type JournalDeps } from '../../src/storage/journal/journal.ts';
import { StoredEvents } from '../../src/storage/events/stored-events.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { DrivenClock } from './driven-clock.ts';
import { FakeLog } from './fakes.ts';

export interface TestJournalSettings extends Partial<Omit<JournalDeps, 'committer'>> {
  readonly batch?: Batch;
  readonly log?: FakeLog;
}

export interface TestJournal {
  readonly journal: Journal;
  readonly events: EventStore;
  readonly stored: StoredEvents;
}

export function openJournal(
  { state }: Pick<Store, 'state'>,
  settings: TestJournalSettings = {},
): TestJournal {
  const { log = new FakeLog(), batch = (write, sight) => state.environment.batch(write, sight) } = settings;
  const journal = new Journal({
    clock: new DrivenClock(),
    productOf: () => 'doorbell' as ProductId,
    backlogMax: 100_000,
    ...settings,
    committer: new LocalCommitter(new EventWriter(state), batch),
  });
  const stored = new StoredEvents(state);
  return { journal, events: new EventStore(stored, journal, log), stored };
}

/** An event that needs no record: the number is in its data, so that a test can tell which it is. */
export function draftOf(deviceId: string, number = 1, atMs = 1_800_000_000_000): EventDraft {
  return {
    type: 'device.wakeup.expired',
    data: { request_id: `ring-${number}` as RequestId },
    deviceId: deviceId as DeviceId,
    atMs,
    epoch: null,
  };
}
