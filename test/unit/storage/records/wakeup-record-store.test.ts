import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ApplicationId, DeviceId, RequestId, WakeupId } from '../../../../src/model/ids.ts';
import { wakeupKnownMs } from '../../../../src/model/limits.ts';
import { aliasRecord } from '../../../../src/model/state/wakeup-save.ts';
import type { WakeupRecord } from '../../../../src/model/wakeup.ts';
import type { Journal } from '../../../../src/storage/journal/journal.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import { forgetWakeupsMs } from '../../../../src/storage/lmdb/store-limits.ts';
import {
  WakeupRecordStore,
  type WakeupRecordSettings,
} from '../../../../src/storage/records/wakeup-record-store.ts';
import { latestOf } from '../../../support/fakes.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { acceptedWakeup } from '../../../support/stored-wakeups.ts';
import { closedAfter, temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf, openJournal, type TestJournalSettings } from '../../../support/test-journal.ts';

const app = '2818153' as ApplicationId;
const request = (number: number): RequestId => `request-${number}` as RequestId;

function wakeupAt(clock: DrivenClock, changes: Partial<WakeupRecord> = {}): WakeupRecord {
  return acceptedWakeup({
    deviceId: 'a\0b' as DeviceId,
    begunAtMs: clock.wallMs(),
    acceptedAtMs: clock.wallMs(),
    ...changes,
  });
}

interface Opened {
  readonly wakeups: WakeupRecordStore;
  readonly journal: Journal;
}

function open(
  store: Store,
  clock: DrivenClock,
  settings: Partial<WakeupRecordSettings> & TestJournalSettings = {},
): Opened {
  const batch = settings.batch ?? ((write: () => void) => store.state.environment.transaction(write));
  const { journal } = openJournal(store, { ...settings, clock, batch });
  const { knownMax = 1_000_000 } = settings;
  return { journal, wakeups: new WakeupRecordStore(store.state, journal, { clock, knownMax, batch }) };
}

/** Advances the clock by minutes while the wall clock stands still. */
async function forgetFor(minutes: number, clock: DrivenClock, wakeups: WakeupRecordStore): Promise<void> {
  for (let i = 0; i < minutes; i++) {
    clock.advance(60_000);
    clock.stepWall(-60_000);
    await wakeups.forgetExpired();
  }
}

function assertKeys(store: Store, known: number, awaited: number): void {
  const { records, names, awaited: awaitedKeys } = store.state.wakeups;
  assert.deepEqual(
    [records.getKeysCount(), names.getKeysCount(), awaitedKeys.getKeysCount()],
    [known, known, awaited],
  );
}

async function reopened(t: TestContext, store: Store): Promise<Store> {
  await store.close();
  return closedAfter(t, openStore(store.directory));
}

test('a saved wakeup is found at once, and after the store is reopened', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  const wakeup = wakeupAt(clock);
  wakeups.save(app, request(1), wakeup, draftOf('a\0b'));
  assert.deepEqual(wakeups.find(latestOf(app, request(1))), wakeup);
  await journal.allCommitted();
  assert.deepEqual(wakeups.find(latestOf(app, request(1))), wakeup);
  const again = open(await reopened(t, store), clock).wakeups;
  assert.deepEqual(again.find(latestOf(app, request(1))), wakeup);
  assert.deepEqual(again.awaited(), [{ appId: app, requestId: request(1), record: wakeup }]);
  assert.equal(again.find(latestOf('2818154' as ApplicationId, request(1))), null);
  assert.equal(again.find(latestOf(app, request(2))), null);
});

test('the first record of a wakeup is saved without a read of the store, and later ones replace it', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  const { names } = store.state.wakeups;
  const get = names.get.bind(names);
  let reads = 0;
  names.get = (...key) => {
    reads += 1;
    return get(...key);
  };
  const wakeup = wakeupAt(clock);
  wakeups.save(app, request(1), wakeup, null, true);
  assert.equal(reads, 0);
  await journal.allCommitted();
  const expired: WakeupRecord = { ...wakeup, isAwaited: false, status: 'expired' };
  wakeups.save(app, request(1), expired, null);
  await journal.allCommitted();
  assert.deepEqual(wakeups.find(latestOf(app, request(1))), expired);
  assertKeys(store, 1, 0);
});

test('wakeups older than 24 hours are removed in slices, and younger ones stay', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  for (let i = 0; i < 1200; i++) wakeups.save(app, request(i), wakeupAt(clock), null);
  clock.stepWall(1);
  wakeups.save(app, request(9999), wakeupAt(clock), null);
  await journal.allCommitted();
  assertKeys(store, 1201, 1201);
  clock.stepWall(wakeupKnownMs - 2);
  await forgetFor(200, clock, wakeups);
  assertKeys(store, 1201, 1201);
  clock.stepWall(1);
  await forgetFor(101, clock, wakeups);
  assertKeys(store, 1, 1);
  assert.notEqual(wakeups.find(latestOf(app, request(9999))), null);
  assert.equal(wakeups.find(latestOf(app, request(1))), null);
});

test('a wall clock 40 days ahead removes a hundredth of the outcomes per minute, and all of a full store', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  for (let i = 0; i < 1000; i++) wakeups.save(app, request(i), wakeupAt(clock), null);
  await journal.allCommitted();
  clock.stepWall(40 * wakeupKnownMs);
  await wakeups.forgetExpired();
  assertKeys(store, 999, 999);
  await forgetFor(3, clock, wakeups);
  assertKeys(store, 969, 969);
  await open(store, clock, { knownMax: 969 }).wakeups.forgetExpired();
  assert.ok(store.state.wakeups.records.getKeysCount() < 969, 'it has room again');
});

test('wakeups of one request id are removed one by one at their age, and the latest of a device with its last', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  const gate = 'gate' as DeviceId;
  const ids = ['wakeup-1', 'wakeup-2', 'wakeup-3'] as WakeupId[];
  for (const [number, id] of ids.entries()) {
    const deviceId = number === 1 ? gate : ('a\0b' as DeviceId);
    wakeups.save(app, request(1), wakeupAt(clock, { id, deviceId }), null);
    clock.stepWall(1000);
  }
  await journal.allCommitted();
  const left = async (): Promise<unknown[]> => {
    await forgetFor(2, clock, wakeups);
    const { records, names, latest } = store.state.wakeups;
    assert.equal(records.getKeysCount(), names.getKeysCount());
    const found = [undefined, 'a\0b' as DeviceId, gate].map(
      (of) => wakeups.find(latestOf(app, request(1), of))?.id,
    );
    return [records.getKeysCount(), latest.getKeysCount(), ...found];
  };
  assert.deepEqual(await left(), [3, 3, ids[2], ids[2], ids[1]]);
  clock.stepWall(wakeupKnownMs - 3000);
  assert.deepEqual(await left(), [2, 3, ids[2], ids[2], ids[1]]);
  clock.stepWall(1000);
  assert.deepEqual(await left(), [1, 2, ids[2], ids[2], undefined]);
  clock.stepWall(1000);
  assert.deepEqual(await left(), [0, 0, undefined, undefined, undefined]);
});

for (const isReopened of [false, true])
  test(`a wakeup whose request id has outlived its first one is the latest, and is found by its own id (reopened: ${isReopened})`, async (t) => {
    const clock = new DrivenClock();
    const store = temporaryStore(t);
    let opened = open(store, clock);
    const save = async (id: string): Promise<WakeupRecord> => {
      const record = wakeupAt(clock, { id: id as WakeupId });
      opened.wakeups.save(app, request(1), record, null);
      await opened.journal.allCommitted();
      return record;
    };
    await save('wakeup-1');
    clock.stepWall(1000);
    const second = await save('wakeup-2');
    clock.stepWall(wakeupKnownMs - 1000);
    await forgetFor(2, clock, opened.wakeups);
    if (isReopened) opened = open(await reopened(t, store), clock);
    const { wakeups } = opened;
    const third = await save('wakeup-3');
    assert.deepEqual(wakeups.find(latestOf(app, request(1))), third);
    for (const record of [second, third])
      assert.deepEqual(wakeups.find({ appId: app, requestId: request(1), which: record.id }), record);
    assert.deepEqual(
      wakeups.list(request(1), null, 10).map(({ record }) => record),
      [third, second],
    );
  });

test('the request id of a repeat finds the wakeup after the store is reopened, and is removed with it', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  const first = wakeupAt(clock);
  wakeups.save(app, request(1), first, null);
  const alias = aliasRecord(first.id, request(1), first.deviceId, first.acceptedAtMs, clock.wallMs());
  wakeups.save(app, request(2), alias, null);
  const completed = { ...first, status: 'completed', isAwaited: false, completedAtMs: 1 } as const;
  const listed = (of: WakeupRecordStore): unknown =>
    of.list(request(2), first.deviceId, 10).map(({ record }) => record);
  assert.deepEqual(listed(wakeups), [{ ...first, repeatOf: request(1) }]);
  await journal.allCommitted();
  wakeups.save(app, request(1), completed, null);
  assert.deepEqual(listed(wakeups), [{ ...completed, repeatOf: request(1) }]);
  await journal.allCommitted();
  assertKeys(store, 2, 0);
  const last = await reopened(t, store);
  const again = open(last, clock).wakeups;
  assert.deepEqual(again.find(latestOf(app, request(2), first.deviceId)), alias);
  assert.deepEqual(listed(again), [{ ...completed, repeatOf: request(1) }]);
  clock.stepWall(wakeupKnownMs);
  await forgetFor(2, clock, again);
  assertKeys(last, 0, 0);
  assert.equal(last.state.wakeups.latest.getKeysCount(), 0);
});

test('a full table reports it, counts each wakeup once, and has room again after removals', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock, { knownMax: 3 });
  for (let i = 0; i < 3; i++) {
    assert.equal(wakeups.isFull(), false);
    wakeups.save(app, request(i), wakeupAt(clock), null);
    wakeups.save(app, request(i), wakeupAt(clock, { isAwaited: false }), null);
    if (i === 1) await journal.allCommitted();
  }
  assert.equal(wakeups.isFull(), true);
  await journal.allCommitted();
  assert.equal(wakeups.isFull(), true);
  assert.equal(open(store, clock, { knownMax: 3 }).wakeups.isFull(), true, 'after a restart too');
  assert.equal(open(store, clock, { knownMax: 4 }).wakeups.isFull(), false);
  clock.stepWall(wakeupKnownMs);
  await wakeups.forgetExpired();
  assert.equal(wakeups.isFull(), false);
});

test('an overloaded store counts as full', (t) => {
  const clock = new DrivenClock();
  const commits = new ScriptedCommits();
  const { wakeups } = open(temporaryStore(t), clock, { backlogMax: 2, batch: commits.batch });
  for (let i = 0; i < 3; i++) wakeups.save(app, request(i), wakeupAt(clock), null);
  assert.equal(wakeups.isFull(), true);
});

test('reads of an unreadable store throw, and no saved wakeup is lost', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups } = open(store, clock, { batch: new ScriptedCommits().batch });
  await store.close();
  assert.throws(() => wakeups.find(latestOf(app, request(1))));
  const wakeup = wakeupAt(clock);
  wakeups.save(app, request(1), wakeup, draftOf('a\0b'));
  assert.deepEqual(wakeups.find(latestOf(app, request(1))), wakeup);
});

test('removal runs by the clock until it is cancelled, and continues after a refusal', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const earlier = open(store, clock);
  earlier.wakeups.save(app, request(1), wakeupAt(clock), null);
  await earlier.journal.allCommitted();
  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  const { wakeups, journal } = open(store, clock, { batch: commits.batch });
  const cancel = wakeups.start();
  clock.stepWall(wakeupKnownMs);
  clock.advance(forgetWakeupsMs);
  await commits.fail();
  assert.equal(journal.isHealthy, true, 'no saved wakeup is lost');
  clock.advance(forgetWakeupsMs);
  await commits.succeed();
  assertKeys(store, 0, 0);
  cancel();
  assert.equal(clock.pendingTimers, 0);
});
