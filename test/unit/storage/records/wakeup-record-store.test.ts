import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { MemberId } from '../../../../src/model/cluster.ts';
import { wakeupKey, type ApplicationId, type DeviceId, type RequestId } from '../../../../src/model/ids.ts';
import { wakeupKnownMs } from '../../../../src/model/limits.ts';
import type { WakeupRecord } from '../../../../src/model/wakeup.ts';
import type { Journal } from '../../../../src/storage/journal/journal.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import { countWakeupsMs, forgetWakeupsMs } from '../../../../src/storage/lmdb/store-limits.ts';
import {
  WakeupRecordStore,
  type WakeupRecordSettings,
} from '../../../../src/storage/records/wakeup-record-store.ts';
import { timeKey } from '../../../../src/storage/records/wakeup-rows.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { closedAfter, temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf, openJournal, type TestJournalSettings } from '../../../support/test-journal.ts';

const app = '2818153' as ApplicationId;
const request = (number: number): RequestId => `request-${number}` as RequestId;

function wakeupAt(clock: DrivenClock, changes: Partial<WakeupRecord> = {}): WakeupRecord {
  return {
    deviceId: 'a\0b' as DeviceId,
    status: 'accepted',
    isAwaited: true,
    begunAtMs: clock.wallMs(),
    acceptedAtMs: clock.wallMs(),
    completedAtMs: null,
    wokeAfterMs: null,
    alreadyOnline: false,
    cause: null,
    sleepEpoch: 7,
    isCallersId: true,
    bodySha256: '0f'.repeat(32),
    watcher: null,
    ...changes,
  };
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
  const batch = settings.batch ?? ((write: () => void) => store.state.environment.batch(write));
  const { journal } = openJournal(store, { ...settings, clock, batch });
  const { knownMax = 1_000_000 } = settings;
  return { journal, wakeups: new WakeupRecordStore(store.state, journal, { clock, knownMax, batch }) };
}

function assertKeys(store: Store, known: number, awaited: number): void {
  const { records, times, awaited: awaitedTimes } = store.state.wakeups;
  assert.deepEqual(
    [records.getKeysCount(), times.getKeysCount(), awaitedTimes.getKeysCount()],
    [known, known, awaited],
  );
}

async function reopened(t: TestContext, store: Store): Promise<Store> {
  await store.close();
  return closedAfter(t, openStore(store.directory));
}

test('a saved wakeup is known at once, and after the store is opened again', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  const wakeup = wakeupAt(clock, { watcher: 'n1/1@life' as MemberId });
  wakeups.save(app, request(1), wakeup, draftOf('a\0b'));
  assert.deepEqual(wakeups.find(app, request(1)), wakeup);
  await journal.allCommitted();
  assert.deepEqual(wakeups.find(app, request(1)), wakeup);
  const again = open(await reopened(t, store), clock).wakeups;
  assert.deepEqual(again.find(app, request(1)), wakeup);
  assert.deepEqual(again.awaited(), [{ appId: app, requestId: request(1), record: wakeup }]);
  assert.equal(again.find('2818154' as ApplicationId, request(1)), null);
  assert.equal(again.find(app, request(2)), null);
});

test('a wakeup that the first release accepted is still known', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const key = wakeupKey(app, request(1));
  const { records, times } = store.state.wakeups;
  await store.state.environment.batch(() => {
    void records.put(Buffer.from(key), ['a\0b', clock.wallMs(), Buffer.alloc(32, 0x0f)]);
    void times.put(timeKey(clock.wallMs(), key), true);
  });
  const { wakeups } = open(store, clock);
  assert.deepEqual(wakeups.find(app, request(1)), wakeupAt(clock, { isAwaited: false, sleepEpoch: 0 }));
  assert.deepEqual(wakeups.awaited(), []);
  clock.advance(wakeupKnownMs);
  assert.equal(wakeups.find(app, request(1)), null);
  await wakeups.forgetExpired();
  assertKeys(store, 0, 0);
});

test('a wakeup is known for 24 hours from its beginning, committed or not, forgotten or not', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  wakeups.save(app, request(1), wakeupAt(clock, { acceptedAtMs: clock.wallMs() + 5 }), null);
  clock.stepWall(wakeupKnownMs - 1);
  assert.notEqual(wakeups.find(app, request(1)), null);
  clock.stepWall(1);
  assert.equal(wakeups.find(app, request(1)), null);
  await journal.allCommitted();
  assert.equal(wakeups.find(app, request(1)), null);
  await wakeups.forgetExpired();
  assertKeys(store, 0, 0);
});

test('forgetting takes what is 24 hours old, over as many slices as it needs, and nothing younger', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  for (let i = 0; i < 1200; i++) wakeups.save(app, request(i), wakeupAt(clock), null);
  clock.stepWall(1);
  wakeups.save(app, request(9999), wakeupAt(clock), null);
  await journal.allCommitted();
  assertKeys(store, 1201, 1201);
  clock.stepWall(wakeupKnownMs - 1);
  await wakeups.forgetExpired();
  assertKeys(store, 1, 1);
  assert.notEqual(wakeups.find(app, request(9999)), null);
});

test('the outcome of a wakeup takes its place, and it is awaited no more', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  for (const isCommitted of [true, false]) {
    const { wakeups, journal } = open(store, clock);
    const awaited = wakeupAt(clock);
    wakeups.save(app, request(1), awaited, draftOf('a\0b'));
    if (isCommitted) await journal.allCommitted();
    const completed = { ...awaited, status: 'completed', isAwaited: false, completedAtMs: 1 } as const;
    wakeups.save(app, request(1), completed, draftOf('a\0b'));
    await journal.allCommitted();
    assert.deepEqual(wakeups.find(app, request(1)), completed);
    assert.deepEqual(wakeups.awaited(), []);
    assertKeys(store, 1, 0);
    clock.stepWall(wakeupKnownMs);
    await wakeups.forgetExpired();
    assertKeys(store, 0, 0);
  }
});

test('an id that begins anew leaves nothing of its earlier time, wherever the earlier one was', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups, journal } = open(store, clock);
  for (const waits of [
    [true, true],
    [false, true],
    [true, false],
    [false, false],
  ]) {
    const id = request(waits.length + Number(waits[0]) * 2 + Number(waits[1]));
    const before = store.state.wakeups.records.getKeysCount();
    for (const isAwaited of [true, true, false]) {
      clock.stepWall(1000);
      wakeups.save(app, id, wakeupAt(clock, { isAwaited }), draftOf('a\0b'));
      if (waits[Number(isAwaited)] === true) await journal.allCommitted();
    }
    await journal.allCommitted();
    assertKeys(store, before + 1, 0);
  }
});

test('a wakeup that begins anew after its 24 hours is not forgotten with the old one', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  for (const isCommitted of [true, false]) {
    const { wakeups, journal } = open(store, clock);
    wakeups.save(app, request(1), wakeupAt(clock), null);
    await journal.allCommitted();
    clock.stepWall(wakeupKnownMs);
    const anew = wakeupAt(clock);
    wakeups.save(app, request(1), anew, null);
    if (isCommitted) await journal.allCommitted();
    await wakeups.forgetExpired();
    await journal.allCommitted();
    assert.deepEqual(wakeups.find(app, request(1)), anew);
    assertKeys(store, 1, 1);
    clock.stepWall(wakeupKnownMs);
    await wakeups.forgetExpired();
    assertKeys(store, 0, 0);
  }
});

test('a full memory says so, counts each wakeup once, and has room again when the old is forgotten', async (t) => {
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

test('where others write too, what they have saved counts within a second', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const [mine, others] = [1, 2].map(() => open(store, clock, { knownMax: 2 }));
  assert(mine !== undefined && others !== undefined);
  const stop = mine.wakeups.followOthers();
  for (let i = 0; i < 2; i++) others.wakeups.save(app, request(i), wakeupAt(clock), null);
  await others.journal.allCommitted();
  assert.equal(mine.wakeups.isFull(), false);
  assert.notEqual(mine.wakeups.find(app, request(1)), null);
  clock.advance(countWakeupsMs);
  assert.equal(mine.wakeups.isFull(), true);
  stop();
  assert.equal(clock.pendingTimers, 0);
});

test('a store that falls behind counts as full', (t) => {
  const clock = new DrivenClock();
  const commits = new ScriptedCommits();
  const { wakeups } = open(temporaryStore(t), clock, { backlogMax: 2, batch: commits.batch });
  for (let i = 0; i < 3; i++) wakeups.save(app, request(i), wakeupAt(clock), null);
  assert.equal(wakeups.isFull(), true);
});

test('a store that cannot be read throws to who asks, and loses nothing of what has happened', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const { wakeups } = open(store, clock, { batch: new ScriptedCommits().batch });
  await store.close();
  assert.throws(() => wakeups.find(app, request(1)));
  const wakeup = wakeupAt(clock);
  wakeups.save(app, request(1), wakeup, draftOf('a\0b'));
  assert.deepEqual(wakeups.find(app, request(1)), wakeup);
});

test('forgetting runs by the clock until it is cancelled, and outlives a store that refuses', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const earlier = open(store, clock);
  earlier.wakeups.save(app, request(1), wakeupAt(clock), null);
  await earlier.journal.allCommitted();
  const commits = new ScriptedCommits((write) => store.state.environment.batch(write));
  const { wakeups, journal } = open(store, clock, { batch: commits.batch });
  const cancel = wakeups.start();
  clock.stepWall(wakeupKnownMs);
  clock.advance(forgetWakeupsMs);
  await commits.fail();
  assert.equal(journal.isHealthy, true, 'nothing that happened waits for the store');
  clock.advance(forgetWakeupsMs);
  await commits.succeed();
  assertKeys(store, 0, 0);
  cancel();
  assert.equal(clock.pendingTimers, 0);
});
