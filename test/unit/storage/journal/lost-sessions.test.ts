import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { lostSessionsSlice } from '../../../../src/storage/lmdb/store-limits.ts';
import { openSharedMembers, type SharedMember } from '../../../support/shared-member.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

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
  assert.equal(await coordinator.lost.close(isGone, 9000), 2);
  const lost = { node: 'node-1', reason: 'node_lost' };
  assert.deepEqual(endsOf(coordinator), [
    [idOf(1), 9000, 1, { session: 'a', ...lost }],
    [idOf(1), 9000, 1, { session: 'b', ...lost }],
  ]);
  assert.equal(coordinator.locator.find(idOf(1)).sleep.lastOfflineAt, 9);
  assert.equal(coordinator.locator.find(idOf(2)).sleep.slots.length, 1);
  assert.equal(await coordinator.lost.close(isGone, 9500), 0);
});

test('two that end the same sessions at once end each of them once', async (t) => {
  const [coordinator, one, other] = threeMembers(t);
  for (let i = 0; i < 40; i++) one.login('sleep', idOf(i), `s${i}`);
  await one.committed();
  await Promise.all([coordinator, other].map(({ lost }) => lost.close(isMember(one.member), 9000)));
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
  await coordinator.lost.close(isMember(one.member), 9000);
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
  assert.equal(await coordinator.lost.close(isMember(one.member), 9000), count);
  assert.equal(commits.mock.callCount(), 3);
  assert.equal(endsOf(coordinator).length, count);
  assert.equal(coordinator.locator.find(idOf(0)).sleep.lastHeartbeatAt, 5);
});
