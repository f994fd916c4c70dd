/** The records of one member in each implementation; all have to behave alike. */
import type { SharedCall } from '../../src/model/cluster.ts';
import type { EventDraft } from '../../src/model/events.ts';
import type { DeviceId } from '../../src/model/ids.ts';
import type { WakeupName, WakeupRecord } from '../../src/model/wakeup.ts';
import type { CallRecords, ConnectionRecords, WakeupRecords } from '../../src/core/ports/records.ts';
import { openRecords } from '../../src/server/bootstrap/records.ts';
import { OwnRecords } from '../../src/storage/journal/own-records.ts';
import { FakeCallRecords, FakeRecords, FakeWakeupRecords } from './fakes.ts';
import type { JoinGround } from './node-ground.ts';
import { NodesSite } from './nodes-site.ts';
import { recordsDeps, recordsSettings } from './records-site.ts';
import { lastFirst, temporaryStore, type Ending } from './temporary-store.ts';

export interface KeptRecords {
  readonly sleep: ConnectionRecords;
  readonly wakeups: WakeupRecords;
  readonly calls: CallRecords;
  /** Resolves to the log when everything written is committed and published. */
  committedEvents(): Promise<readonly EventDraft[]>;
  /** True: events of different devices are in the order of their changes, too. */
  readonly isOneOrder: boolean;
  /** Looks up the wakeup as another member does. Call `committedEvents` before. */
  recallWakeup(name: WakeupName): Promise<WakeupRecord | null>;
  recallCalls(deviceId: DeviceId): Promise<readonly SharedCall[]>;
}

export type MakeKeptRecords = (t: Ending) => Promise<KeptRecords>;

export async function standIns(): Promise<KeptRecords> {
  const events: EventDraft[] = [];
  const wakeups = new FakeWakeupRecords(events);
  const calls = new FakeCallRecords(events);
  return {
    sleep: new FakeRecords(events),
    wakeups,
    calls,
    committedEvents: async () => events,
    isOneOrder: true,
    recallWakeup: async (name) => wakeups.find(name),
    recallCalls: async (deviceId) => calls.read(deviceId).map(sharedCall),
  };
}

export async function storeRecords(t: Ending): Promise<KeptRecords> {
  const ending = lastFirst(t);
  const { state } = temporaryStore(ending);
  const records = openRecords(state, recordsSettings, recordsDeps(new OwnRecords(state)));
  ending.after(() => records.close());
  return {
    ...records,
    async committedEvents() {
      await records.allCommitted();
      return records.events.read(0, 1000);
    },
    isOneOrder: true,
    recallWakeup: async (name) => records.wakeups.find(name),
    recallCalls: async (deviceId) => records.calls.read(deviceId).map(sharedCall),
  };
}

export async function nodeRecords(t: Ending, join: JoinGround): Promise<KeptRecords> {
  const site = await NodesSite.start(t, join);
  const { one, other } = site;
  return {
    sleep: one.claimed,
    wakeups: one.records.wakeups,
    calls: one.records.calls,
    async committedEvents() {
      await site.untilShared();
      return other.records.events.read(0, 1000);
    },
    isOneOrder: false,
    recallWakeup: (name) => other.wakeups.find(name, 2000),
    recallCalls: async (deviceId) => (await other.calls.find(deviceId))?.calls ?? [],
  };
}

export function sharedCall({ sessionId, state }: SharedCall): SharedCall {
  return { sessionId, state };
}

/** Groups events by device if the records keep no order between devices. */
export function inOrder<Event extends Pick<EventDraft, 'deviceId'>>(
  { isOneOrder }: KeptRecords,
  events: readonly Event[],
): readonly Event[] {
  if (isOneOrder) return events;
  const devices = [...new Set(events.map(({ deviceId }) => deviceId))].toSorted();
  return devices.flatMap((device) => events.filter(({ deviceId }) => deviceId === device));
}
