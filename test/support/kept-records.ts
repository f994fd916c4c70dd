/** The records of one member, by everything that keeps them; what it says is to be the same for all. */
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
  /** Resolves, when all that was written is committed and told, to the log. */
  told(): Promise<readonly EventDraft[]>;
  /** Events of different devices are told in the order of their changes, too. */
  readonly isOneOrder: boolean;
  /** As another member finds them that is asked. Behind `told`. */
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
    told: async () => events,
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
    async told() {
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
    async told() {
      await site.settled();
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

/** As far as there is an order: where devices have none among them, one device after the other. */
export function inOrder<Told extends Pick<EventDraft, 'deviceId'>>(
  { isOneOrder }: KeptRecords,
  events: readonly Told[],
): readonly Told[] {
  if (isOneOrder) return events;
  const devices = [...new Set(events.map(({ deviceId }) => deviceId))].toSorted();
  return devices.flatMap((device) => events.filter(({ deviceId }) => deviceId === device));
}
