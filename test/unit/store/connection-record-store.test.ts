import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { neverConnected, type ConnectionRecord } from '../../../src/domain/connectivity.ts';
import type { DeviceId, SessionId } from '../../../src/domain/ids.ts';
import { ConnectionRecordStore } from '../../../src/store/connection-record-store.ts';
import { openStore, type Store } from '../../../src/store/open-store.ts';
import type { ConnectionKind } from '../../../src/store/state-tables.ts';
import { DrivenClock } from '../../support/driven-clock.ts';
import { ScriptedCommits } from '../../support/scripted-commits.ts';
import { closedAfter, temporaryStore } from '../../support/temporary-store.ts';

const device = 'TESTDEVICE01' as DeviceId;
const openRecord: ConnectionRecord = {
  epoch: 3,
  lastLoginAt: 100,
  lastHeartbeatAt: 110,
  lastOfflineAt: 90,
  openSession: '0190b1c2-7d3e-7000-8000-0123456789ab' as SessionId,
};
const closedRecord: ConnectionRecord = { ...openRecord, openSession: null };

function recordsOf(store: Store, kind: ConnectionKind = 'sleep'): ConnectionRecordStore {
  return new ConnectionRecordStore(store.state, kind, { clock: new DrivenClock(), backlogMax: 100_000 });
}

async function reopened(t: Parameters<typeof closedAfter>[0], store: Store): Promise<Store> {
  await store.close();
  return closedAfter(t, openStore(store.directory));
}

test('a record that was committed is read after the store is opened again', async (t) => {
  const store = temporaryStore(t);
  const records = recordsOf(store);
  const strange = 'a\0b\n😀' as DeviceId;
  records.write(device, openRecord);
  records.write(strange, neverConnected);
  await records.allCommitted();
  const again = recordsOf(await reopened(t, store));
  assert.deepEqual(again.read(device), openRecord);
  assert.deepEqual(again.read(strange), neverConnected);
});

test('sleep and signal records are apart', async (t) => {
  const store = temporaryStore(t);
  const [sleep, signal] = [recordsOf(store, 'sleep'), recordsOf(store, 'signal')];
  sleep.write(device, openRecord);
  await sleep.allCommitted();
  assert.equal(signal.read(device), null);
  assert.equal(await signal.closeOpenSessions(500), 0);
  assert.deepEqual(sleep.read(device), openRecord);
});

test('sessions that a crash left open are ended once, at the time they are found, and nothing else changes', async (t) => {
  const store = temporaryStore(t);
  const before = recordsOf(store);
  before.write(device, openRecord);
  before.write('ENDED' as DeviceId, openRecord);
  before.write('ENDED' as DeviceId, closedRecord);
  before.write('CLOSED' as DeviceId, closedRecord);
  await before.allCommitted();
  before.write('ENDED LATER' as DeviceId, openRecord);
  await before.allCommitted();
  before.write('ENDED LATER' as DeviceId, closedRecord);
  await before.allCommitted();

  const after = recordsOf(await reopened(t, store));
  assert.equal(await after.closeOpenSessions(500), 1);
  assert.deepEqual(after.read(device), { ...openRecord, lastOfflineAt: 500, openSession: null });
  for (const id of ['ENDED', 'CLOSED', 'ENDED LATER'])
    assert.deepEqual(after.read(id as DeviceId), closedRecord);
  assert.equal(await after.closeOpenSessions(600), 0);
  assert.equal(after.read(device)?.lastOfflineAt, 500);
});

test('more open sessions than one slice are all ended', async (t) => {
  const store = temporaryStore(t);
  const before = recordsOf(store);
  const ids = Array.from({ length: 20_001 }, (_, i) => `device-${i}` as DeviceId);
  for (const id of ids) before.write(id, openRecord);
  await before.allCommitted();
  const after = recordsOf(store);
  assert.equal(await after.closeOpenSessions(500), ids.length);
  for (const id of ids) assert.equal(after.read(id)?.openSession, null);
  assert.equal(await after.closeOpenSessions(600), 0);
});

test('a store that refuses commits says so, keeps every record in sight, and commits them when it can', async (t) => {
  for (const failures of [1, 2, 5]) {
    const store = temporaryStore(t);
    const clock = new DrivenClock();
    const commits = new ScriptedCommits();
    const health: unknown[] = [];
    const settings = {
      clock,
      backlogMax: 100,
      batch: commits.batch,
      onHealth: (failure: unknown) => health.push(failure),
    };
    const failing = new ConnectionRecordStore(store.state, 'sleep', settings);
    failing.write(device, openRecord);
    const committed = failing.committed(device);
    for (let i = 0; i < failures; i++) {
      await commits.fail();
      assert.equal(failing.isHealthy, false);
      assert.deepEqual(failing.read(device), openRecord);
      clock.advance(1000);
    }
    // The refused store comes back: what the next commit writes is really written.
    await commits.asked();
    const pass = store.state.environment.batch(() => void commits.succeed());
    await Promise.all([committed, pass]);
    assert.equal(failing.isHealthy, true);
    assert.equal(failing.committed(device), null);
    assert.deepEqual(failing.read(device), openRecord);
    assert.equal(health.length, 2);
    assert.equal(health[1], null);
  }
});

test('a store that fell behind is overloaded until it has caught up', async (t) => {
  const store = temporaryStore(t);
  const records = new ConnectionRecordStore(store.state, 'sleep', {
    clock: new DrivenClock(),
    backlogMax: 10,
  });
  for (let i = 0; i < 11; i++) records.write(`device-${i}` as DeviceId, openRecord);
  assert.equal(records.isOverloaded, true);
  await records.allCommitted();
  assert.equal(records.isOverloaded, false);
});

test('a record cannot be read from a closed store: it throws and is never taken for none', async (t) => {
  const store = temporaryStore(t);
  const records = recordsOf(store);
  await store.close();
  assert.throws(() => records.read(device));
});

test('the newest record is what is read, at every moment between writes and commits', async (t) => {
  const records = recordsOf(temporaryStore(t));
  const newest = new Map<DeviceId, number>();
  let seed = 1;
  for (let step = 1; step <= 3000; step++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    const id = `device-${(seed >>> 16) % 12}` as DeviceId;
    records.write(id, { ...openRecord, epoch: step });
    newest.set(id, step);
    if (seed % 5 === 0) await setImmediate();
    if (seed % 97 === 0) await records.committed(id);
    for (const [deviceId, epoch] of newest) assert.equal(records.read(deviceId)?.epoch, epoch);
  }
});
