/** Workers that hand over to processes of the release in place, as their supervisor sees it: both are one member. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { processStopMsMax } from '../../../../src/model/limits.ts';
import { relayMsMax } from '../../../../src/model/upgrade-limits.ts';
import { FakeBoundSocket, SupervisorScene, type FakeFork } from '../../../support/fake-forks.ts';

async function started(workers = 2): Promise<SupervisorScene> {
  const scene = new SupervisorScene(workers, workers, true);
  await scene.started();
  return scene;
}

/** The worker has asked for its successor: both. */
async function handingOver(scene: SupervisorScene, process = 1): Promise<[FakeFork, FakeFork]> {
  const leaving = scene.life(process);
  await scene.settle();
  assert.equal(leaving.has('hand-over'), true);
  leaving.report({ kind: 'start-successor' });
  return [leaving, scene.life(process)];
}

/** The successor serves, and the other one ends. */
async function takenOver(scene: SupervisorScene, [leaving, successor]: [FakeFork, FakeFork]): Promise<void> {
  leaving.report({ kind: 'lets-go' });
  successor.ready();
  leaving.die('exit code 0');
  await scene.settle();
}

describe('a worker that hands over', () => {
  test('is followed by the same member, one worker after another and the coordinator last', async () => {
    const scene = await started();
    const upgrading = scene.supervisor.replace('all');
    const first = await handingOver(scene);
    const [leaving, successor] = first;
    assert.equal(successor.task.member, leaving.task.member);
    assert.deepEqual([leaving.task.isSuccessor, successor.task.isSuccessor], [false, true]);
    assert.equal(scene.life(2).has('hand-over'), false);
    await takenOver(scene, first);
    await takenOver(scene, await handingOver(scene, 2));
    assert.equal(scene.lives(0), 2);
    scene.life(0).ready();
    await upgrading;
    assert.deepEqual(scene.life(0).members, ['0 coordinator up', '1 worker up', '2 worker up']);
    assert.deepEqual(scene.life(0).upgrade, { isUnderWay: false, failure: null, asked: 0 });
    assert.equal(leaving.has('stop'), false);
  });

  test('leaves the coordinator to the release in place: why that cannot start is told, and it is tried on', async () => {
    const scene = await started(1);
    const upgrading = scene.supervisor.replace('all');
    await takenOver(scene, await handingOver(scene));
    scene.life(0).report({ kind: 'failed', reason: 'ops.listen: in use' });
    scene.life(0).die('exit code 1');
    await upgrading;
    await scene.settle();
    assert.equal(scene.lives(0), 3);
    const failure = 'the coordinator: it ended while it started: ops.listen: in use';
    assert.equal(scene.life(1).upgrade.failure, failure);
  });

  test('has what it sends passed on, sockets too, which the supervisor keeps no longer than that', async () => {
    const scene = await started(1);
    void scene.supervisor.replace('workers');
    const [leaving, successor] = await handingOver(scene);
    const socket = new FakeBoundSocket();
    const order = { kind: 'session-socket', sessionId: 's' } as const;
    leaving.report({ kind: 'to-successor', order }, socket);
    assert.deepEqual(successor.orders.at(-1), { kind: 'from-predecessor', order });
    assert.equal(successor.sockets.at(-1), socket);
    assert.deepEqual([socket.isOpen, leaving.orders.at(-1)], [false, { kind: 'order-passed-on' }]);
    const report = { kind: 'ready', sessions: 1 } as const;
    successor.report({ kind: 'to-predecessor', report });
    assert.deepEqual(leaving.orders.at(-1), { kind: 'from-successor', report });
    // Also when it serves: callers have a connection to the other one.
    successor.ready();
    const request = { kind: 'answers', answers: [] } as const;
    leaving.report({ kind: 'to-successor', order: request });
    assert.deepEqual(successor.orders.at(-1), { kind: 'from-predecessor', order: request });
    successor.report({ kind: 'to-predecessor', report: { kind: 'answer', id: 1, answer: null } });
    assert.equal(leaving.orders.at(-1)?.kind, 'from-successor');
  });

  test('is lent no sockets of the sleep port any more, and its successor is', async () => {
    const scene = await started();
    void scene.supervisor.replace('workers');
    const [leaving, successor] = await handingOver(scene);
    leaving.report({ kind: 'lets-go' });
    assert.equal(scene.life(2).lent.size, 2);
    successor.ready();
    assert.equal(successor.lent.size > 0, true);
  });

  test('goes on when its successor ends, and the others are left alone', async () => {
    const scene = await started();
    const upgrading = scene.supervisor.replace('all');
    const [worker, successor] = await handingOver(scene);
    successor.die('exit code 3');
    await scene.settle();
    assert.deepEqual(worker.orders.at(-1), { kind: 'successor-ended', how: 'exit code 3' });
    worker.report({ kind: 'not-handed-over', reason: 'the new release ended' });
    await upgrading;
    const failure = 'process 1: the new release ended';
    assert.deepEqual(scene.life(0).upgrade, { isUnderWay: false, failure, asked: 0 });
    assert.deepEqual([scene.lives(0), scene.life(2).has('hand-over'), scene.lives(1)], [1, false, 2]);
    assert.deepEqual(scene.life(0).members, ['0 coordinator up', '1 worker up', '2 worker up']);
    // It has been without connections for a moment, and says that it serves again.
    worker.report({ kind: 'lets-go' });
    worker.ready();
    assert.equal(worker.lent.size > 0, true);
  });

  test('is told when the machine has no process for its successor', async () => {
    const scene = await started(1);
    void scene.supervisor.replace('workers');
    await scene.settle();
    scene.noProcess = new Error('EAGAIN');
    scene.life(1).report({ kind: 'start-successor' });
    assert.deepEqual(scene.life(1).orders.at(-1), { kind: 'successor-ended', how: 'EAGAIN' });
    scene.life(1).report({ kind: 'end-successor' });
    assert.equal(scene.life(1).orders.at(-1)?.kind, 'successor-ended');
  });

  test('and dies takes its successor with it, which has nothing yet, and another member follows', async () => {
    const scene = await started(1);
    const upgrading = scene.supervisor.replace('workers');
    const [worker, successor] = await handingOver(scene);
    worker.die('SIGKILL');
    await scene.settle();
    await upgrading;
    assert.equal(successor.wasKilled, true);
    assert.notEqual(scene.life(1).task.member, worker.task.member);
    assert.match(scene.life(0).upgrade.failure ?? '', /^process 1: the process ended meanwhile: SIGKILL$/);
  });

  test('and does not end is killed when callers have had their time', async () => {
    const scene = await started(1);
    const upgrading = scene.supervisor.replace('workers');
    const [leaving, successor] = await handingOver(scene);
    successor.ready();
    await scene.pass(relayMsMax + processStopMsMax - 500);
    assert.equal(leaving.wasKilled, false);
    await scene.pass(500);
    await upgrading;
    assert.equal(leaving.wasKilled, true);
    assert.equal(scene.lives(1), 2);
  });

  test('and gives its successor up when that serves already is ended itself', async () => {
    const scene = await started(1);
    void scene.supervisor.replace('workers');
    const [leaving, successor] = await handingOver(scene);
    successor.ready();
    leaving.report({ kind: 'end-successor' });
    assert.deepEqual([leaving.wasKilled, successor.wasKilled], [true, false]);
  });

  test('is ended by a stop, its successor before it serves', async () => {
    const scene = await started();
    const upgrading = scene.supervisor.replace('all');
    const [worker, successor] = await handingOver(scene);
    await scene.supervisor.stop();
    await upgrading;
    assert.deepEqual([successor.wasKilled, worker.has('stop')], [true, true]);
    assert.deepEqual([scene.lives(0), scene.lives(1), scene.lives(2)], [1, 2, 1]);
  });
});
