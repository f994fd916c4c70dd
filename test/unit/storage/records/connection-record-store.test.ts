import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { neverConnected, type ConnectionRecord } from '../../../../src/model/connectivity.ts';
import { sessionEvent } from '../../../../src/model/state/session-event.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { ConnectionRecordStore } from '../../../../src/storage/records/connection-record-store.ts';
import { LostSessions } from '../../../../src/storage/journal/lost-sessions.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import type { ConnectionKind } from '../../../../src/model/cluster.ts';
import { commitRetryMs } from '../../../../src/storage/lmdb/store-limits.ts';
import { endOf, loginOf } from '../../../support/connection-changes.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { closedAfter, temporaryStore } from '../../../support/temporary-store.ts';
import { openJournal } from '../../../support/test-journal.ts';

const device = 'TESTDEVICE01' as DeviceId;
const openRecord: ConnectionRecord = {
  epoch: 1,
  lastLoginAt: 100,
  lastHeartbeatAt: null,
  lastOfflineAt: null,
  openSession: '0190b1c2-7d3e-7000-8000-0123456789ab' as SessionId,
};
const closedRecord: ConnectionRecord = { ...openRecord, lastOfflineAt: 110, openSession: null };

function recordsOf(store: Store, kind: ConnectionKind = 'sleep'): ConnectionRecordStore {
  return new ConnectionRecordStore(store.state, kind, openJournal(store).journal);
}

async function reopened(t: TestContext, store: Store): Promise<Store> {
  await store.close();
  return closedAfter(t, openStore(store.directory));
}

function allEvents(store: Store) {
  return openJournal(store).events.read(0, 100_000);
}

const openSession = openRecord.openSession as SessionId;
const login = loginOf({ session: openSession, atMs: 100_000 });
const signalLogin = loginOf({ connection: 'signal', session: openSession, atMs: 100_000 });
const signalEnd = endOf({ connection: 'signal', session: openSession, atMs: 110_000 });

test('a committed record and its event are read after the store is reopened', async (t) => {
  const store = temporaryStore(t);
  const records = recordsOf(store);
  const strange = 'a\0b\n😀' as DeviceId;
  records.write(device, openRecord, login);
  records.write(strange, openRecord, login);
  await records.allCommitted();
  const after = await reopened(t, store);
  const again = recordsOf(after);
  assert.deepEqual(again.read(device), openRecord);
  assert.deepEqual(again.read(strange), openRecord);
  const [event, other, ...more] = allEvents(after);
  assert.deepEqual(more, []);
  assert.equal(other?.deviceId, strange);
  assert.deepEqual(event, {
    ...sessionEvent(device, login),
    id: event?.id,
    sequence: 1,
    seq: 1,
    productId: 'doorbell',
  });
});

test('sleep and signal records are separate, and share one event log', async (t) => {
  const store = temporaryStore(t);
  const { journal, events } = openJournal(store);
  const sleep = new ConnectionRecordStore(store.state, 'sleep', journal);
  const signal = new ConnectionRecordStore(store.state, 'signal', journal);
  sleep.write(device, openRecord, login);
  signal.write(device, openRecord, signalLogin);
  signal.write(device, closedRecord, signalEnd);
  assert.deepEqual([sleep.read(device), signal.read(device)], [openRecord, closedRecord]);
  await sleep.allCommitted();
  assert.deepEqual([sleep.read(device), signal.read(device)], [openRecord, closedRecord]);
  assert.deepEqual(
    events.read(0, 10).map(({ seq }) => seq),
    [1, 2, 3],
  );
  const lost = new LostSessions({ state: store.state, records: { sleep, signal }, node: 'node-1' });
  assert.equal(await lost.close('signal', () => true, 500_000), 0);
});

test('heartbeats during a refusal use one entry per device, and the newest is kept', async (t) => {
  const store = temporaryStore(t);
  const clock = new DrivenClock();
  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  const { journal } = openJournal(store, { clock, batch: commits.batch });
  const records = new ConnectionRecordStore(store.state, 'sleep', journal);
  const ids = Array.from({ length: 10 }, (_, i) => `device-${i}` as DeviceId);
  for (const id of ids) records.write(id, openRecord, login);
  await commits.fail();
  for (let at = 111; at < 200; at++)
    for (const id of ids) records.write(id, { ...openRecord, lastHeartbeatAt: at }, null);
  assert.equal(journal.backlog, 20);
  clock.advance(commitRetryMs);
  await commits.succeed();
  const all = journal.allCommitted();
  await commits.succeed();
  await all;
  for (const id of ids) assert.equal(records.read(id)?.lastHeartbeatAt, 199);
});

test('reading a record from a closed store throws, and never returns null', async (t) => {
  const store = temporaryStore(t);
  const records = recordsOf(store);
  await store.close();
  assert.throws(() => records.read(device));
});

test('reads return the newest record at every moment between writes and commits', async (t) => {
  const records = recordsOf(temporaryStore(t));
  const newest = new Map<DeviceId, ConnectionRecord>();
  let seed = 1;
  for (let step = 1; step <= 3000; step++) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    const id = `device-${(seed >>> 16) % 12}` as DeviceId;
    const known = newest.get(id) ?? neverConnected;
    const session = `session-${step}` as SessionId;
    const next =
      known.openSession === null || seed % 3 === 0
        ? { ...known, epoch: known.epoch + 1, lastLoginAt: step, openSession: session }
        : { ...known, lastHeartbeatAt: step };
    const isLogin = next.openSession === session;
    records.write(id, next, isLogin ? loginOf({ session, atMs: step * 1000, epoch: next.epoch }) : null);
    newest.set(id, next);
    if (seed % 5 === 0) await setImmediate();
    if (seed % 97 === 0) await records.committed(id);
    for (const [deviceId, record] of newest) assert.deepEqual(records.read(deviceId), record);
  }
});
