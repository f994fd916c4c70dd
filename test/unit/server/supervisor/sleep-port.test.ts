import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sleepLoanConnectionsMin } from '../../../../src/model/sleep.ts';
import { chanceFrom, type Chance } from '../../../support/seeded-random.ts';
import { SupervisorScene } from '../../../support/fake-forks.ts';

const waitLine = 'sleep connections wait: no worker takes them';

function open(scene: SupervisorScene): number[] {
  return scene.workers.map((worker) => worker.open);
}

function lent(scene: SupervisorScene): number[] {
  return scene.workers.map((worker) => worker.lent.size);
}

/** How far the farthest is from an equal share, as a part of it. */
function unevenness(counts: readonly number[]): number {
  const share = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return Math.max(...counts.map((count) => Math.abs(count - share) / share));
}

/** As the kernel spreads them: each to a socket that chance chooses. */
async function storm(scene: SupervisorScene, count: number, random: Chance): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    assert.ok(scene.connect(random.below(scene.sockets.length)), 'a connection waits');
    if (number % 500 === 0) await scene.pass(500);
  }
}

test('the port is open once all are up, and closed before anybody is told to stop', async () => {
  const scene = new SupervisorScene(2);
  assert.equal(scene.sockets.length, 0);
  await scene.started();
  assert.deepEqual(lent(scene), [1, 1]);
  for (const fork of scene.forks) fork.isSound = false;
  const stopping = scene.supervisor.stop();
  assert.deepEqual(
    scene.sockets.map(({ isOpen }) => isOpen),
    [false, false],
  );
  for (const fork of scene.forks.toReversed()) {
    fork.die('exit code 0');
    await scene.settle();
  }
  await stopping;
  assert.equal(scene.log.lines.filter(({ message }) => message === waitLine).length, 0);
});

test('all are up when every socket has a worker that listens: until then it refuses who comes', async () => {
  const scene = new SupervisorScene(2);
  let isUp = false;
  void scene.supervisor.start().then(() => (isUp = true));
  await scene.settle();
  scene.life(0).ready();
  await scene.settle();
  const [first, slow] = scene.workers;
  assert.ok(first !== undefined && slow !== undefined);
  slow.isSound = false;
  for (const worker of [first, slow]) worker.ready();
  await scene.settle();
  assert.deepEqual(lent(scene), [1, 1]);
  assert.equal(isUp, false);
  // It dies before it listens, and the other one is lent what it had.
  slow.die('SIGKILL');
  await scene.settle();
  assert.equal(first.lent.size, 2);
  assert.equal(isUp, true);
});

test('a port whose sockets cannot be had is no start', async () => {
  const scene = new SupervisorScene(1);
  scene.noSockets = new Error('cannot bind: EADDRINUSE');
  await assert.rejects(scene.started(), { message: 'cannot bind: EADDRINUSE' });
});

for (const [name, sockets] of [
  ['a socket for each worker', 8],
  ['eight sockets for each worker', 64],
  ['one socket that goes from hand to hand', 1],
] as const)
  describe(`with ${name}`, () => {
    test('20 000 connections are spread within 10 %', async () => {
      const scene = new SupervisorScene(8, sockets);
      await scene.started();
      await storm(scene, 20_000, chanceFrom(1));
      assert.ok(unevenness(open(scene)) < 0.1, String(open(scene)));
    });

    test('those of a worker that died come back to all of them, and evenly', async () => {
      const scene = new SupervisorScene(8, sockets);
      await scene.started();
      const random = chanceFrom(2);
      await storm(scene, 20_000, random);
      const lost = scene.life(3).open;
      scene.life(3).die('SIGKILL');
      await scene.settle();
      scene.life(3).ready();
      await scene.settle();
      await storm(scene, lost, random);
      assert.ok(unevenness(open(scene)) < 0.1, String(open(scene)));
    });
  });

test('a worker gives a socket back when it has what it was lent it for, and it goes to who has the fewest', async () => {
  const scene = new SupervisorScene(2, 1);
  await scene.started();
  const [first, second] = scene.workers;
  const holder = first?.lent.size === 1 ? first : second;
  const other = holder === first ? second : first;
  assert.deepEqual(Array.from(holder?.lent.values() ?? []), [sleepLoanConnectionsMin]);
  holder?.accept(0, sleepLoanConnectionsMin);
  assert.deepEqual([holder?.lent.size, other?.lent.size], [0, 1]);
});

test('a worker with many connections is lent a socket for more of them at a time', async () => {
  const scene = new SupervisorScene(1);
  await scene.started();
  const [worker] = scene.workers;
  if (worker === undefined) throw new Error('there is a worker');
  worker.open = 4000;
  worker.accept(0, sleepLoanConnectionsMin);
  assert.deepEqual([...worker.lent.values()], [100]);
});

test('a worker that comes has sockets called back for it, since it has the fewest', async () => {
  const scene = new SupervisorScene(2);
  await scene.started();
  for (const worker of scene.workers) worker.open = 1000;
  await scene.pass(1000);
  scene.life(1).die('SIGKILL');
  await scene.settle();
  assert.deepEqual(lent(scene), [0, 2]);
  scene.life(1).ready();
  assert.deepEqual(lent(scene), [2, 0]);
});

describe('who waits in a socket', () => {
  test('of a worker that dies or is drained is taken by another, and of one that is gone again by nobody', async () => {
    const scene = new SupervisorScene(2);
    await scene.started();
    const [, drained, other] = scene.forks;
    if (drained === undefined) throw new Error('there is a worker');
    drained.isSound = false;
    void scene.supervisor.replace('workers');
    await scene.settle();
    assert.equal(other?.lent.size, 2);
    // It has not read that it is to stop: what it gives back is another's by now.
    for (const number of drained.lent.keys()) drained.accept(number, sleepLoanConnectionsMin);
    assert.equal(other?.lent.size, 2);
  });

  test('while no worker takes them stays there, which is logged once', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    scene.life(1).die('SIGKILL');
    await scene.settle();
    await scene.pass(3000);
    assert.deepEqual([scene.connect(0), scene.sockets[0]?.isOpen], [false, true]);
    assert.equal(scene.log.lines.filter(({ message }) => message === waitLine).length, 1);
    scene.life(1).ready();
    assert.equal(scene.connect(0), true);
  });
});
