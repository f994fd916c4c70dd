import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { MemberId } from '../../../../src/model/cluster.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { lostSessionsSlice } from '../../../../src/storage/lmdb/store-limits.ts';
import { openSharedHouses, type SharedHouse } from '../../../support/shared-house.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

function threeHouses(t: TestContext): [SharedHouse, SharedHouse, SharedHouse] {
  const [keeper, one, other] = openSharedHouses(t, join(temporaryDirectory(t), 'data'), ['0', '1', '2']);
  assert(keeper !== undefined && one !== undefined && other !== undefined);
  return [keeper, one, other];
}

const idOf = (number: number): DeviceId => `device-${number}` as DeviceId;
const isMember =
  (gone: MemberId) =>
  (member: MemberId): boolean =>
    member === gone;

function endsOf({ events }: SharedHouse): unknown[] {
  events.refresh();
  return events
    .read(0, 100_000)
    .filter(({ type }) => type.endsWith('offline'))
    .map(({ deviceId, atMs, epoch, data }) => [deviceId, atMs, epoch, data]);
}

test('the sessions of a process that is gone end once as lost, those of the others go on', async (t) => {
  const [keeper, one, other] = threeHouses(t);
  one.login('sleep', idOf(1), 'a');
  one.login('signal', idOf(1), 'b');
  await one.committed();
  other.login('sleep', idOf(2), 'c');
  await other.committed();
  const isGone = isMember(one.member);
  assert.equal(await keeper.lost.close(isGone, 9000), 2);
  const lost = { node: 'node-1', reason: 'node_lost' };
  assert.deepEqual(endsOf(keeper), [
    [idOf(1), 9000, 1, { session: 'a', ...lost }],
    [idOf(1), 9000, 1, { session: 'b', ...lost }],
  ]);
  assert.equal(keeper.whereabouts.find(idOf(1)).sleep.lastOfflineAt, 9);
  assert.equal(keeper.whereabouts.find(idOf(2)).sleep.seats.length, 1);
  assert.equal(await keeper.lost.close(isGone, 9500), 0);
});

test('two that end the same sessions at once end each of them once', async (t) => {
  const [keeper, one, other] = threeHouses(t);
  for (let i = 0; i < 40; i++) one.login('sleep', idOf(i), `s${i}`);
  await one.committed();
  await Promise.all([keeper, other].map(({ lost }) => lost.close(isMember(one.member), 9000)));
  assert.equal(endsOf(keeper).length, 40);
});

test('a device that has logged in elsewhere meanwhile keeps its session', async (t) => {
  const [keeper, one, other] = threeHouses(t);
  one.login('sleep', idOf(1), 'a');
  await one.committed();
  const { environment } = keeper.store.state;
  const commit = environment.transaction.bind(environment);
  const late = t.mock.method(environment, 'transaction', async (...act: Parameters<typeof commit>) => {
    other.login('sleep', idOf(1), 'b');
    await other.committed();
    return commit(...act);
  });
  await keeper.lost.close(isMember(one.member), 9000);
  assert.equal(late.mock.callCount(), 1);
  assert.deepEqual(endsOf(keeper), []);
  assert.equal(keeper.whereabouts.find(idOf(1)).sleep.seats[0]?.session, 'b');
});

test('more of them than a slice all end, a commit each slice, and the heartbeats they had stay', async (t) => {
  const [keeper, one] = threeHouses(t);
  const count = lostSessionsSlice * 2 + 1;
  for (let i = 0; i < count; i++) one.login('sleep', idOf(i), `s${i}`);
  one.beat('sleep', idOf(0), 's0', 5);
  await one.committed();
  const commits = t.mock.method(keeper.store.state.environment, 'transaction');
  assert.equal(await keeper.lost.close(isMember(one.member), 9000), count);
  assert.equal(commits.mock.callCount(), 3);
  assert.equal(endsOf(keeper).length, count);
  assert.equal(keeper.whereabouts.find(idOf(0)).sleep.lastHeartbeatAt, 5);
});
