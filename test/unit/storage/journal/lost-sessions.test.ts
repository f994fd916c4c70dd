import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ConnectionRecord } from '../../../../src/model/connectivity.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import type { Journal } from '../../../../src/storage/journal/journal.ts';
import { LostSessions } from '../../../../src/storage/journal/lost-sessions.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import { ConnectionRecordStore } from '../../../../src/storage/records/connection-record-store.ts';
import { putConnectionRecord } from '../../../../src/storage/records/connection-rows.ts';
import { endOf, loginOf } from '../../../support/connection-changes.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { closedAfter, temporaryStore } from '../../../support/temporary-store.ts';
import { openJournal } from '../../../support/test-journal.ts';

const everybody = (): boolean => true;

function lostIn({ state }: Pick<Store, 'state'>, journal: Journal, node = 'node-1') {
  const [sleep, signal] = (['sleep', 'signal'] as const).map(
    (kind) => new ConnectionRecordStore(state, kind, journal),
  );
  assert(sleep !== undefined && signal !== undefined);
  return { records: sleep, lost: new LostSessions({ state, records: { sleep, signal }, node }) };
}

const device = 'TESTDEVICE01' as DeviceId;
const openRecord: ConnectionRecord = {
  epoch: 3,
  lastLoginAt: 100,
  lastHeartbeatAt: 110,
  lastOfflineAt: 90,
  openSession: '0190b1c2-7d3e-7000-8000-0123456789ab' as SessionId,
};
const closedRecord: ConnectionRecord = { ...openRecord, openSession: null };

/** Puts records as a crash leaves them. */
async function putRecords(
  { state }: Pick<Store, 'state'>,
  records: Readonly<Record<string, ConnectionRecord>>,
): Promise<void> {
  await state.environment.transaction(() => {
    for (const [deviceId, record] of Object.entries(records))
      putConnectionRecord(state.connections.sleep, deviceId, record);
  });
}

async function reopened(t: TestContext, store: Store): Promise<Store> {
  await store.close();
  return closedAfter(t, openStore(store.directory));
}

const openSession = openRecord.openSession as SessionId;
const login = loginOf({ session: openSession, atMs: 100_000, epoch: 3 });

test('sessions that a crash left open end once, at the time they are found, each with its event', async (t) => {
  const store = temporaryStore(t);
  await putRecords(store, {
    [device]: { ...openRecord, epoch: 2, openSession: null },
    ENDED: { ...openRecord, epoch: 2, openSession: null },
    CLOSED: closedRecord,
  });
  const before = new ConnectionRecordStore(store.state, 'sleep', openJournal(store).journal);
  before.write(device, openRecord, login);
  before.write('ENDED' as DeviceId, openRecord, login);
  before.write('ENDED' as DeviceId, closedRecord, endOf({ session: openSession, atMs: 90_000 }));
  await before.allCommitted();

  const after = await reopened(t, store);
  const { journal, events } = openJournal(after);
  const { records, lost } = lostIn(after, journal, 'node-2');
  const head = events.head;
  assert.equal(await lost.close('sleep', everybody, 500_999), 1);
  assert.deepEqual(records.read(device), { ...openRecord, lastOfflineAt: 500, openSession: null });
  const [event, ...others] = events.read(head, 10);
  assert.deepEqual(others, []);
  assert.equal(event?.type, 'device.sleep.offline');
  assert.deepEqual([event.deviceId, event.atMs, event.epoch, event.seq], [device, 500_999, 3, 2]);
  assert.deepEqual(event.data, { session: openRecord.openSession, node: 'node-2', reason: 'node_lost' });
  assert.equal(await lost.close('sleep', everybody, 600_000), 0);
  assert.equal(events.head, head + 1);
  for (const untouched of ['ENDED', 'CLOSED'])
    assert.deepEqual(records.read(untouched as DeviceId), closedRecord, untouched);
});

test('if another crash interrupts the closing of sessions, the next start completes it and repeats none', async (t) => {
  const store = temporaryStore(t);
  const ids = Array.from({ length: 1200 }, (_, i) => `device-${i}` as DeviceId);
  await putRecords(store, Object.fromEntries(ids.map((id) => [id, openRecord])));

  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  const cutOff = openJournal(store, { batch: commits.batch });
  void lostIn(store, cutOff.journal).lost.close('sleep', everybody, 500_000);
  await commits.succeed();
  await commits.asked();

  const after = await reopened(t, store);
  const closed = openJournal(after).events.head;
  assert.ok(closed > 0 && closed < ids.length);
  const { journal, events } = openJournal(after);
  const { records: second, lost } = lostIn(after, journal);
  assert.equal(await lost.close('sleep', everybody, 600_000), ids.length - closed);
  const ended = events.read(0, 10_000);
  assert.deepEqual(ended.map(({ deviceId }) => deviceId).sort(), [...ids].sort());
  assert.ok(ended.every(({ seq }) => seq === 1));
  for (const { deviceId, atMs } of ended) assert.equal(second.read(deviceId)?.lastOfflineAt, atMs / 1000);
});

test('a device that logs in before its lost session ends keeps the new session', async (t) => {
  const store = temporaryStore(t);
  const { journal, events } = openJournal(store);
  const { records, lost } = lostIn(store, journal);
  await putRecords(store, { [device]: openRecord });
  const next = '0190b1c2-7d3e-7000-8000-000000000001' as SessionId;
  records.write(
    device,
    { ...openRecord, epoch: 4, openSession: next },
    loginOf({ session: next, epoch: 4, replaced: true }),
  );
  await lost.close('sleep', everybody, 500_000);
  await records.allCommitted();
  assert.equal(records.read(device)?.openSession, next);
  assert.deepEqual(
    events.read(0, 10).map(({ type, epoch }) => [type, epoch]),
    [['device.sleep.login', 4]],
  );
});

test('the end of a lost session is visible at once, so that a later login replaces no session', async (t) => {
  const store = temporaryStore(t);
  const { journal } = openJournal(store);
  const { records, lost } = lostIn(store, journal);
  await putRecords(store, { [device]: openRecord });
  const closed = lost.close('sleep', everybody, 500_000);
  assert.deepEqual(records.read(device), { ...openRecord, lastOfflineAt: 500, openSession: null });
  assert.equal(await closed, 1);
});
