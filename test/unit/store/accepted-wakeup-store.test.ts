import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId, DeviceId, RequestId } from '../../../src/domain/ids.ts';
import { wakeupKnownMs } from '../../../src/domain/limits.ts';
import {
  AcceptedWakeupStore,
  type AcceptedWakeupSettings,
} from '../../../src/store/accepted-wakeup-store.ts';
import { openStore, type Store } from '../../../src/store/open-store.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { ScriptedCommits } from '../../support/scripted-commits.ts';
import { closedAfter, temporaryStore } from '../../support/temporary-store.ts';

const app = '2818153' as ApplicationId;
const request = (number: number): RequestId => `request-${number}` as RequestId;

function wakeupAt(clock: DrivenClock) {
  return { deviceId: 'a\0b' as DeviceId, acceptedAtMs: clock.wallMs(), bodySha256: '0f'.repeat(32) };
}

function wakeupsOf(
  store: Store,
  clock: DrivenClock,
  settings: Partial<AcceptedWakeupSettings> = {},
): AcceptedWakeupStore {
  return new AcceptedWakeupStore(store.state, {
    clock,
    knownMax: 1_000_000,
    backlogMax: 100_000,
    ...settings,
  });
}

test('an accepted wakeup is known at once, and after the store is opened again', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const wakeups = wakeupsOf(store, clock);
  const wakeup = wakeupAt(clock);
  wakeups.add(app, request(1), wakeup);
  assert.deepEqual(wakeups.find(app, request(1)), wakeup);
  await wakeups.allCommitted();
  assert.deepEqual(wakeups.find(app, request(1)), wakeup);
  await store.close();
  const again = wakeupsOf(closedAfter(t, openStore(store.directory)), clock);
  assert.deepEqual(again.find(app, request(1)), wakeup);
  assert.equal(again.find('2818154' as ApplicationId, request(1)), null);
  assert.equal(again.find(app, request(2)), null);
});

test('a wakeup is known for 24 hours, committed or not, forgotten or not', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const wakeups = wakeupsOf(store, clock);
  wakeups.add(app, request(1), wakeupAt(clock));
  clock.advance(wakeupKnownMs - 1);
  assert.notEqual(wakeups.find(app, request(1)), null);
  clock.advance(1);
  assert.equal(wakeups.find(app, request(1)), null);
  await wakeups.allCommitted();
  assert.equal(wakeups.find(app, request(1)), null);
  await wakeups.forgetExpired();
  assert.equal(store.state.acceptedWakeups.getKeysCount(), 0);
  assert.equal(store.state.acceptedTimes.getKeysCount(), 0);
});

test('forgetting takes what is 24 hours old, over as many slices as it needs, and nothing younger', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const wakeups = wakeupsOf(store, clock);
  for (let i = 0; i < 1200; i++) wakeups.add(app, request(i), wakeupAt(clock));
  clock.advance(1);
  wakeups.add(app, request(9999), wakeupAt(clock));
  await wakeups.allCommitted();
  clock.advance(wakeupKnownMs - 1);
  await wakeups.forgetExpired();
  assert.equal(store.state.acceptedWakeups.getKeysCount(), 1);
  assert.equal(store.state.acceptedTimes.getKeysCount(), 1);
  assert.notEqual(wakeups.find(app, request(9999)), null);
});

test('a wakeup accepted anew after its 24 hours is not forgotten with the old one', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  for (const isCommitted of [true, false]) {
    const wakeups = wakeupsOf(store, clock);
    wakeups.add(app, request(1), wakeupAt(clock));
    await wakeups.allCommitted();
    clock.advance(wakeupKnownMs);
    const anew = wakeupAt(clock);
    wakeups.add(app, request(1), anew);
    if (isCommitted) await wakeups.allCommitted();
    await wakeups.forgetExpired();
    await wakeups.allCommitted();
    assert.deepEqual(wakeups.find(app, request(1)), anew);
    assert.equal(store.state.acceptedTimes.getKeysCount(), 1);
    clock.advance(wakeupKnownMs);
    await wakeups.forgetExpired();
  }
});

test('a full memory says so, counts what is in the store, and has room again when the old is forgotten', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const wakeups = wakeupsOf(store, clock, { knownMax: 3 });
  for (let i = 0; i < 3; i++) {
    assert.equal(wakeups.isFull(), false);
    wakeups.add(app, request(i), wakeupAt(clock));
  }
  assert.equal(wakeups.isFull(), true);
  await wakeups.allCommitted();
  assert.equal(wakeups.isFull(), true);
  assert.equal(wakeupsOf(store, clock, { knownMax: 3 }).isFull(), true, 'after a restart too');
  clock.advance(wakeupKnownMs);
  await wakeups.forgetExpired();
  assert.equal(wakeups.isFull(), false);
});

test('a store that falls behind counts as full', (t) => {
  const clock = new DrivenClock();
  const commits = new ScriptedCommits();
  const wakeups = wakeupsOf(temporaryStore(t), clock, { backlogMax: 2, batch: commits.batch });
  for (let i = 0; i < 3; i++) wakeups.add(app, request(i), wakeupAt(clock));
  assert.equal(wakeups.isFull(), true);
});

test('forgetting runs by the clock until it is cancelled, and outlives a store that refuses', async (t) => {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const earlier = wakeupsOf(store, clock);
  earlier.add(app, request(1), wakeupAt(clock));
  await earlier.allCommitted();
  const commits = new ScriptedCommits();
  const wakeups = wakeupsOf(store, clock, { batch: commits.batch });
  const cancel = wakeups.start();
  clock.stepWall(wakeupKnownMs);
  clock.advance(1000);
  await commits.fail();
  assert.equal(wakeups.isHealthy, true, 'nothing accepted waits for the store');
  clock.advance(1000);
  await commits.asked();
  cancel();
  assert.equal(clock.pendingTimers, 0);
});
