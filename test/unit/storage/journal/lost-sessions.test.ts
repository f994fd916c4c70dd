import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { ConnectionRecord } from '../../../../src/model/connectivity.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { LostSessions } from '../../../../src/storage/journal/lost-sessions.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import { ConnectionRecordStore } from '../../../../src/storage/records/connection-record-store.ts';
import { putConnectionRecord } from '../../../../src/storage/records/connection-rows.ts';
import { lostSessionsSlice } from '../../../../src/storage/lmdb/store-limits.ts';
import { endOf, loginOf } from '../../../support/connection-changes.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { openSharedMembers, type SharedMember } from '../../../support/shared-member.ts';
import { closedAfter, temporaryDirectory, temporaryStore } from '../../../support/temporary-store.ts';
import { openJournal } from '../../../support/test-journal.ts';

function threeMembers(t: TestContext): [SharedMember, SharedMember, SharedMember] {
  const [coordinator, one, other] = openSharedMembers(t, join(temporaryDirectory(t), 'data'), [
    '0',
    '1',
    '2',
  ]);
  assert(coordinator !== undefined && one !== undefined && other !== undefined);
  return [coordinator, one, other];
}

const idOf = (number: number): DeviceId => `device-${number}` as DeviceId;
const isMember =
  (gone: MemberId) =>
  (member: MemberId): boolean =>
    member === gone;

function endsOf({ events }: SharedMember): unknown[] {
  events.refresh();
  return events
    .read(0, 100_000)
    .filter(({ type }) => type.endsWith('offline'))
    .map(({ deviceId, atMs, epoch, data }) => [deviceId, atMs, epoch, data]);
}

test('the sessions of a process that is gone end once as lost, those of the others go on', async (t) => {
  const [coordinator, one, other] = threeMembers(t);
  one.login('sleep', idOf(1), 'a');
  one.login('signal', idOf(1), 'b');
  await one.committed();
  other.login('sleep', idOf(2), 'c');
  await other.committed();
  const isGone = isMember(one.member);
  assert.equal(await coordinator.closeLost(isGone, 9000), 2);
  const lost = { node: 'node-1', reason: 'node_lost' };
  assert.deepEqual(endsOf(coordinator), [
    [idOf(1), 9000, 1, { session: 'a', ...lost }],
    [idOf(1), 9000, 1, { session: 'b', ...lost }],
  ]);
  assert.equal(coordinator.locator.find(idOf(1)).sleep.lastOfflineAt, 9);
  assert.equal(coordinator.locator.find(idOf(2)).sleep.slots.length, 1);
  assert.equal(await coordinator.closeLost(isGone, 9500), 0);
});

test('two that end the same sessions at once end each of them once', async (t) => {
  const [coordinator, one, other] = threeMembers(t);
  for (let i = 0; i < 40; i++) one.login('sleep', idOf(i), `s${i}`);
  await one.committed();
  await Promise.all([coordinator, other].map((member) => member.closeLost(isMember(one.member), 9000)));
  assert.equal(endsOf(coordinator).length, 40);
});

test('a device that has logged in elsewhere meanwhile keeps its session', async (t) => {
  const [coordinator, one, other] = threeMembers(t);
  one.login('sleep', idOf(1), 'a');
  await one.committed();
  const { environment } = coordinator.store.state;
  const commit = environment.transaction.bind(environment);
  const late = t.mock.method(environment, 'transaction', async (...act: Parameters<typeof commit>) => {
    other.login('sleep', idOf(1), 'b');
    await other.committed();
    return commit(...act);
  });
  await coordinator.closeLost(isMember(one.member), 9000);
  assert.equal(late.mock.callCount(), 1);
  assert.deepEqual(endsOf(coordinator), []);
  assert.equal(coordinator.locator.find(idOf(1)).sleep.slots[0]?.session, 'b');
});

test('more of them than a slice all end, a commit each slice, and the heartbeats they had stay', async (t) => {
  const [coordinator, one] = threeMembers(t);
  const count = lostSessionsSlice * 2 + 1;
  for (let i = 0; i < count; i++) one.login('sleep', idOf(i), `s${i}`);
  one.heartbeat('sleep', idOf(0), 's0', 5);
  await one.committed();
  const commits = t.mock.method(coordinator.store.state.environment, 'transaction');
  assert.equal(await coordinator.closeLost(isMember(one.member), 9000), count);
  assert.equal(commits.mock.callCount(), 3);
  assert.equal(endsOf(coordinator).length, count);
  assert.equal(coordinator.locator.find(idOf(0)).sleep.lastHeartbeatAt, 5);
});

const everybody = (): boolean => true;
const device = 'TESTDEVICE01' as DeviceId;
const openRecord: ConnectionRecord = {
  epoch: 3,
  lastLoginAt: 100,
  lastHeartbeatAt: 110,
  lastOfflineAt: 90,
  openSession: '0190b1c2-7d3e-7000-8000-0123456789ab' as SessionId,
};
const closedRecord: ConnectionRecord = { ...openRecord, openSession: null };

/** As a crash leaves them. */
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

test('sessions that a crash left open are ended once, at the time they are found, each with its event', async (t) => {
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
  const records = new ConnectionRecordStore(after.state, 'sleep', journal);
  const lost = new LostSessions(after.state, journal, 'node-2');
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

test('ending what was left open, cut off by another crash, is finished by the next start and repeats nothing', async (t) => {
  const store = temporaryStore(t);
  const ids = Array.from({ length: 1200 }, (_, i) => `device-${i}` as DeviceId);
  await putRecords(store, Object.fromEntries(ids.map((id) => [id, openRecord])));

  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  const cutOff = openJournal(store, { batch: commits.batch });
  const first = new LostSessions(store.state, cutOff.journal, 'node-1');
  void first.close('sleep', everybody, 500_000);
  await commits.succeed();
  await commits.asked();

  const after = await reopened(t, store);
  const closed = openJournal(after).events.head;
  assert.ok(closed > 0 && closed < ids.length);
  const { journal, events } = openJournal(after);
  const second = new ConnectionRecordStore(after.state, 'sleep', journal);
  assert.equal(
    await new LostSessions(after.state, journal, 'node-1').close('sleep', everybody, 600_000),
    ids.length - closed,
  );
  const ended = events.read(0, 10_000);
  assert.deepEqual(ended.map(({ deviceId }) => deviceId).sort(), [...ids].sort());
  assert.ok(ended.every(({ seq }) => seq === 1));
  for (const { deviceId, atMs } of ended) assert.equal(second.read(deviceId)?.lastOfflineAt, atMs / 1000);
});
