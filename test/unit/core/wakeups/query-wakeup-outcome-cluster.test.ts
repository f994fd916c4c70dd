/** Outcomes of wakeups whose device logs in at another member, queried at any member. Source: cluster.md, events.md. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId, RequestId } from '../../../../src/model/ids.ts';
import { wakeupRecallEveryMs, wakeupRecallMsMax } from '../../../../src/model/limits.ts';
import { latestOf, testApp } from '../../../support/fakes.ts';
import { ClusterScene, now, untilIdle } from '../../../support/cluster-scene.ts';

const requestId = 'r-1' as RequestId;

/** A device that sleeps at the first member and was woken 2 s ago. */
async function woken(): Promise<ClusterScene> {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  assert.equal(await scene.member(1).wake({ requestId }), 0);
  scene.clock.advance(2000);
  return scene;
}

function recordOf(scene: ClusterScene): { status?: string; wokeAfterMs?: number | null } {
  return scene.member(0).wakeupRecords.find(latestOf(testApp, requestId)) ?? {};
}

test('a signal login at another member completes the wakeup once, with the wake time', async () => {
  const scene = await woken();
  scene.member(2).connectController();
  scene.member(1).connectController();
  assert.deepEqual(scene.wakeupEvents(), ['accepted r-1', 'completed r-1']);
  assert.equal(recordOf(scene).wokeAfterMs, 2000);
});

test('the wake time is measured to the login of the device, not to the notification', async () => {
  const scene = await woken();
  scene.member(2).connectController({ isCommitted: false });
  scene.clock.advance(700);
  scene.member(2).commit();
  assert.equal(recordOf(scene).wokeAfterMs, 2000);
});

test('a local login that the log repeats does not complete a later wakeup', async () => {
  const scene = new ClusterScene();
  const member = scene.member(0);
  member.sleep();
  const { session } = member.connectController({ isCommitted: false });
  scene.clock.advance(10);
  member.end('signal', session, { isCommitted: false });
  scene.clock.advance(10);
  assert.equal(await member.wake({ requestId }), 0);
  member.commit();
  assert.equal(recordOf(scene).status, 'accepted');
});

test('a login at another member that is logged between the write and its callback completes the wakeup', async () => {
  const scene = new ClusterScene();
  const { connection } = scene.member(0).sleep();
  connection.immediately = null;
  const answer = scene.member(1).wake({ requestId });
  await untilIdle();
  scene.clock.advance(3);
  scene.member(2).connectController();
  connection.completeWakes('written');
  assert.equal(await answer, 0);
  assert.deepEqual(scene.wakeupEvents(), ['accepted r-1', 'completed r-1']);
  assert.equal(recordOf(scene).wokeAfterMs, 0);
});

test('a login before the wakeup does not complete it, though the log has it afterwards', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep();
  const { session } = scene.member(2).connectController({ isCommitted: false });
  scene.member(2).end('signal', session, { isCommitted: false });
  scene.clock.advance(5);
  assert.equal(await scene.member(1).wake({ requestId }), 0);
  scene.member(2).commit();
  assert.deepEqual(scene.wakeupEvents(), ['accepted r-1']);
});

test('a wakeup whose session at another member is reset, without a login, has failed', async () => {
  const scene = new ClusterScene();
  scene.member(0).sleep({ wakeMode: 'none' });
  const { session } = scene.member(1).sleep();
  assert.equal(await scene.member(2).wake({ requestId }), 0);
  scene.clock.advance(1000);
  scene.member(1).end('sleep', session);
  scene.clock.advance(6000);
  assert.deepEqual(scene.wakeupEvents(), ['accepted r-1', 'failed r-1']);
});

test('a wakeup whose local session is reset has failed, matched by the shared epoch', async () => {
  const scene = new ClusterScene(['n1', 'n1']);
  scene.member(0).sleep();
  const { session } = scene.member(1).sleep();
  assert.equal(await scene.member(1).wake({ requestId }), 0);
  scene.member(1).end('sleep', session);
  scene.clock.advance(6000);
  assert.deepEqual(scene.wakeupEvents(), ['accepted r-1', 'failed r-1']);
});

test('the reset of another session of the device fails nothing', async () => {
  const scene = await woken();
  const { session } = scene.member(1).sleep();
  scene.member(1).end('sleep', session);
  scene.clock.advance(6000);
  assert.equal(recordOf(scene).status, 'accepted');
});

test("any member answers the outcome of another member's wakeup; an unknown one is 40413", async () => {
  const scene = await woken();
  for (const member of scene.members) assert.equal(await member.outcome('r-1'), 'accepted');
  const unknown = scene.member(2).outcome('r-2');
  assert.equal(await now(unknown), 'still waiting');
  scene.clock.advance(wakeupRecallMsMax);
  assert.equal(await unknown, 40413);
});

test('the answer waits for an accepted wakeup that is not in the shared state yet', async () => {
  const scene = await woken();
  scene.isBehind = true;
  const answer = scene.member(2).outcome('r-1');
  assert.equal(await now(answer), 'still waiting');
  scene.isBehind = false;
  scene.clock.advance(wakeupRecallEveryMs);
  assert.equal(await answer, 'accepted');
});

test('while the shared state is unreachable, a remote wakeup is 50301 and a local one is answered', async () => {
  const scene = await woken();
  scene.shared.fault = 'away';
  assert.equal(await scene.member(0).outcome('r-1'), 'accepted');
  assert.equal(await scene.member(2).outcome('r-1'), 50301);
  assert.deepEqual(scene.member(2).log.lines, []);
});

for (const place of [0, 2])
  test(`a caller waiting ${place === 0 ? 'where it was sent' : 'elsewhere'} is answered as soon as the outcome is known`, async () => {
    const scene = await woken();
    const member = scene.member(place);
    const answer = member.outcome('r-1', 30_000);
    assert.equal(await now(answer), 'still waiting');
    scene.member(1).connectController();
    assert.equal(await now(answer), 'completed');
    assert.deepEqual([member.deps.readers.size, member.deps.waiters?.size], [0, 0]);
  });

test('a caller that waits at another member in vain gets the current state when the wait ends', async () => {
  const scene = await woken();
  const answer = scene.member(2).outcome('r-1', 10_000);
  await untilIdle();
  scene.clock.advance(10_000);
  assert.equal(await now(answer), 'accepted');
});

test("the outcome of another device's wakeup with the same id wakes no caller", async () => {
  const scene = await woken();
  let told = 0;
  const stop = scene.member(2).deps.waiters?.follow('OTHER' as DeviceId, requestId, () => (told += 1));
  scene.member(1).connectController();
  stop?.();
  assert.equal(told, 0);
});
