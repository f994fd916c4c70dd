import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { ConnectionRecordStore } from '../../../../src/storage/records/connection-record-store.ts';
import { LostSessions } from '../../../../src/storage/journal/lost-sessions.ts';
import { openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { writeHeartbeat, writeLogin } from '../../../support/connection-changes.ts';
import type { DrivenClock } from '../../../support/driven-clock.ts';
import { openSharedMembers, sharedNode, type SharedMember } from '../../../support/shared-member.ts';
import { closedAfter, temporaryDirectory } from '../../../support/temporary-store.ts';
import { openJournal } from '../../../support/test-journal.ts';

const device = 'TESTDEVICE01' as DeviceId;

function twoMembers(t: TestContext): [SharedMember, SharedMember] {
  const [one, other] = openSharedMembers(t, join(temporaryDirectory(t), 'data'), ['1', '2']);
  assert(one !== undefined && other !== undefined);
  return [one, other];
}

/** What of the log tells who sat where. */
function logOf({ events }: SharedMember): unknown[] {
  events.refresh();
  return events.read(0, 1000).map(({ type, epoch, seq, data }) => [type, epoch, seq, data]);
}

const loginData = (session: string, replaced: boolean): object => ({ session, node: sharedNode, replaced });

test('a login takes the next epoch whoever gave the last, and the slot of whoever has it', async (t) => {
  const [one, other] = twoMembers(t);
  one.login('sleep', device, 'a');
  await one.committed();
  other.login('sleep', device, 'b', 3000);
  await other.committed();
  const [taken] = other.taken;
  assert.equal(taken?.epoch, 2);
  assert.deepEqual(
    taken.superseded.map(({ member, session }) => [member, session]),
    [[one.member, 'a']],
  );
  assert.deepEqual(logOf(one), [
    ['device.sleep.login', 1, 1, loginData('a', false)],
    ['device.sleep.login', 2, 2, loginData('b', true)],
  ]);
});

test('an end tells the epoch that all know, and leaves times that are the latest of all', async (t) => {
  const [one, other] = twoMembers(t);
  one.login('sleep', device, 'a', 1000);
  await one.committed();
  one.heartbeat('sleep', device, 'a', 50);
  await one.committed();
  other.login('sleep', device, 'b', 3000);
  await other.committed();
  other.end('sleep', device, 'b', 7000, 20);
  await other.committed();
  const { sleep } = one.locator.find(device);
  assert.deepEqual(sleep, { epoch: 2, slots: [], lastLoginAt: 3, lastHeartbeatAt: 50, lastOfflineAt: 7 });
  assert.deepEqual(logOf(one).at(-1), [
    'device.sleep.offline',
    2,
    3,
    { session: 'b', node: sharedNode, reason: 'peer_closed' },
  ]);
});

test('a heartbeat of a session that has no slot is dropped, and its process hears that it is lost', async (t) => {
  const [one, other] = twoMembers(t);
  one.login('sleep', device, 'a');
  await one.committed();
  other.login('sleep', device, 'b');
  await other.committed();
  one.heartbeat('sleep', device, 'a', 77);
  await one.committed();
  assert.equal(one.told.at(-1), 'lost a');
  assert.equal(one.locator.find(device).sleep.lastHeartbeatAt, null);
});

test('what a session had heard before its process opened the next one is kept', async (t) => {
  const [one] = twoMembers(t);
  one.login('sleep', device, 'a');
  await one.committed();
  const heard = { epoch: 1, lastLoginAt: 1, lastHeartbeatAt: 40, lastOfflineAt: null, openSession: null };
  one.sleep.write(device, heard, null);
  one.login('sleep', device, 'b', 60_000);
  await one.committed();
  assert.equal(one.locator.find(device).sleep.lastHeartbeatAt, 40);
  assert.equal(one.taken.at(-1)?.times.lastHeartbeatAt, 40);
});

test('a process sees its own open sessions and of the others only their times and epochs', async (t) => {
  const [one, other] = twoMembers(t);
  one.login('signal', device, 'a', 5000);
  await one.committed();
  assert.equal(one.signal.read(device)?.openSession, 'a');
  other.store.state.environment.refresh();
  assert.deepEqual(other.signal.read(device), {
    epoch: 1,
    lastLoginAt: 5,
    lastHeartbeatAt: null,
    lastOfflineAt: null,
    openSession: null,
  });
  const [slot] = other.locator.find(device).signal.slots;
  assert.deepEqual(slot, { member: one.member, node: sharedNode, session: 'a', epoch: 1, loginAtMs: 5000 });
});

test('slots are told first, then events, then who waits; the others are told that the log grew', async (t) => {
  const [one] = twoMembers(t);
  one.login('sleep', device, 'a');
  void one.sleep.committed(device)?.then(() => one.told.push('waiter'));
  await one.committed();
  assert.deepEqual(one.told, ['taken a 1', 'event 1 1', 'grew', 'waiter']);
});

test('a transaction that failed half-way has changed nothing, and what follows is whole', async (t) => {
  const [one, other] = twoMembers(t);
  const { events } = one.store.state;
  const refused = t.mock.method(events.seqs, 'put', () => {
    throw new Error('no room');
  });
  one.login('sleep', device, 'a');
  while (one.journal.isHealthy) await new Promise(setImmediate);
  assert.equal(other.locator.find(device).sleep.epoch, 0);
  assert.deepEqual(logOf(other), []);
  refused.mock.restore();
  (one.clock as DrivenClock).advance(1000);
  await one.committed();
  assert.deepEqual(logOf(other), [['device.sleep.login', 1, 1, loginData('a', false)]]);
});

test('a batch that was visible when the disk failed is told once and not put again', async (t) => {
  const [one] = twoMembers(t);
  const { environment } = one.store.state;
  const commit = environment.transaction.bind(environment);
  const failing = t.mock.method(environment, 'transaction', async (act: () => unknown) => {
    await commit(act);
    throw new Error('the disk is gone');
  });
  one.login('sleep', device, 'a');
  await one.committed();
  failing.mock.restore();
  while (one.journal.isHealthy) await new Promise(setImmediate);
  (one.clock as DrivenClock).advance(1000);
  one.end('sleep', device, 'a');
  await one.committed();
  assert.deepEqual(one.told, ['taken a 1', 'event 1 1', 'grew', 'event 2 2', 'grew']);
});

test('a store that one process wrote is taken up by several, and by one again', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  const before = openStore(directory);
  const alone = new ConnectionRecordStore(before.state, 'sleep', openJournal(before).journal);
  const place = { records: alone, kind: 'sleep', deviceId: device, node: sharedNode } as const;
  writeLogin(place, 'a' as SessionId, 9000);
  writeHeartbeat(place, 'a' as SessionId, 11);
  await alone.allCommitted();
  const opened = alone.read(device);
  assert(opened !== null);
  await before.close();
  const [deps] = openSharedMembers(t, directory, ['1']);
  assert(deps !== undefined);
  assert.equal(deps.sleep.read(device)?.openSession, null);
  assert.deepEqual(
    deps.locator.find(device).sleep.slots.map(({ member, session, epoch }) => [member, session, epoch]),
    [['', 'a', 1]],
  );
  deps.login('sleep', device, 'b', 20_000);
  await deps.committed();
  assert.equal(deps.taken[0]?.epoch, 2);
  await deps.store.close();
  const after = closedAfter(t, openStore(directory));
  const { journal } = openJournal(after);
  const again = new ConnectionRecordStore(after.state, 'sleep', journal);
  const lost = new LostSessions(after.state, journal, sharedNode);
  assert.deepEqual(again.read(device), { ...opened, epoch: 2, lastLoginAt: 20, openSession: null });
  assert.equal(await lost.close('sleep', () => true, 30_000), 1);
  assert.equal(again.read(device)?.lastOfflineAt, 30);
});
