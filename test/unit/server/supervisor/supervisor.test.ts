import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  processHeartbeatMs,
  processRestartMsMax,
  processRestartMsMin,
  processSilentHeartbeatsMax,
  processSpareDelayMs,
  processStartHeartbeatsMax,
} from '../../../../src/model/limits.ts';
import { stopMsMax, SupervisorScene } from '../../../support/fake-forks.ts';

describe('a start', () => {
  test('has the coordinator up before there is a worker, and is over when all are up', async () => {
    const scene = new SupervisorScene(2);
    let isOver = false;
    const starting = scene.supervisor.start().then(() => (isOver = true));
    await scene.settle();
    assert.deepEqual(
      scene.forks.map(({ process }) => process),
      [0],
    );
    scene.life(0).ready();
    await scene.settle();
    assert.deepEqual(
      scene.forks.map(({ process }) => process),
      [0, 1, 2],
    );
    scene.life(1).ready();
    await scene.settle();
    assert.equal(isOver, false);
    scene.life(2).ready();
    await starting;
    const { api, ops } = scene.supervisor.listeners;
    assert.deepEqual([api, ops], ['127.0.0.1:8080', '127.0.0.1:8090']);
  });

  test('tells every process what it is and who lives', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    const { process, role, member, listeners } = scene.life(1).task;
    assert.deepEqual([process, role, listeners.api.port], [1, 'worker', 8080]);
    assert.match(member, /^node-a\/1@[0-9a-f-]{36}$/);
    assert.deepEqual(scene.life(0).members, ['0 coordinator up', '1 worker up']);
    assert.deepEqual(scene.life(1).members, ['0 coordinator up', '1 worker up']);
  });

  test('that a process refuses is refused in its words, and nobody is left', async () => {
    const scene = new SupervisorScene(2);
    const starting = scene.supervisor.start();
    await scene.settle();
    scene.life(0).ready();
    await scene.settle();
    scene.life(2).report({ kind: 'failed', reason: 'cannot listen on 127.0.0.1:8080' });
    scene.life(2).die('exit code 1');
    await assert.rejects(starting, { message: 'cannot listen on 127.0.0.1:8080' });
    assert.deepEqual(
      scene.forks.map((fork) => fork.has('stop')),
      [true, true, false],
    );
    assert.equal(scene.forks.length, 3);
  });

  test('in which a process ends without a word names it', async () => {
    const scene = new SupervisorScene(1);
    const starting = scene.supervisor.start();
    await scene.settle();
    scene.life(0).die('SIGSEGV');
    await assert.rejects(starting, { message: 'process 0 ended while it started: SIGSEGV' });
  });

  test('that is called off starts no workers', async () => {
    const scene = new SupervisorScene(1);
    const starting = scene.supervisor.start();
    const refused = assert.rejects(starting);
    await scene.settle();
    await scene.supervisor.stop();
    await refused;
    assert.equal(scene.forks.length, 1);
  });
});

describe('a process that dies', () => {
  test('is followed at once by the same number and another member', async () => {
    const scene = new SupervisorScene(2);
    await scene.started();
    const { member } = scene.life(1).task;
    scene.life(1).die('SIGKILL');
    await scene.settle();
    assert.equal(scene.lives(1), 2);
    assert.notEqual(scene.life(1).task.member, member);
    assert.deepEqual(scene.life(2).members, ['0 coordinator up', '1 worker starting', '2 worker up']);
    scene.life(1).ready();
    assert.deepEqual(scene.life(2).members, ['0 coordinator up', '1 worker up', '2 worker up']);
  });

  test('again and again is started ever later, and at once when it had lived', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    for (const waitMs of [0, processRestartMsMin, processRestartMsMin * 2, processRestartMsMin * 4]) {
      const lives = scene.lives(1);
      scene.life(1).die('exit code 1');
      await scene.settle();
      if (waitMs > 0) {
        scene.clock.advance(waitMs - 1);
        await scene.settle();
        assert.equal(scene.lives(1), lives);
        scene.clock.advance(1);
        await scene.settle();
      }
      assert.equal(scene.lives(1), lives + 1);
    }
    scene.life(1).ready();
    await scene.pass(6000);
    const lives = scene.lives(1);
    scene.life(1).die('SIGKILL');
    await scene.settle();
    assert.equal(scene.lives(1), lives + 1);
  });

  test('never waits for longer than the most', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    for (let death = 0; death < 20; death += 1) {
      scene.life(1).die('exit code 1');
      await scene.settle();
      await scene.pass(processRestartMsMax);
    }
    assert.equal(scene.lives(1), 21);
  });

  test('is started later where the machine has no process to give', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    scene.noProcess = new Error('EAGAIN');
    scene.life(1).die('SIGKILL');
    await scene.settle();
    assert.equal(scene.lives(1), 1);
    scene.noProcess = null;
    await scene.pass(processRestartMsMin * 4);
    assert.equal(scene.lives(1), 2);
  });

  test('is followed by the spare, and another is prepared', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    await scene.pass(processSpareDelayMs);
    const spare = scene.forks[2];
    assert.equal(spare?.process, null);
    scene.life(1).die('SIGKILL');
    await scene.settle();
    assert.equal(spare?.process, 1);
    assert.equal(scene.forks.length, 3);
    spare?.ready();
    await scene.pass(processSpareDelayMs);
    assert.equal(scene.forks.length, 4);
  });
});

describe('a process that hangs', () => {
  test('is killed after its heartbeats were not answered, and followed', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    const hanging = scene.life(1);
    hanging.isSound = false;
    await scene.pass(processHeartbeatMs * processSilentHeartbeatsMax);
    assert.equal(hanging.wasKilled, false);
    await scene.pass(processHeartbeatMs);
    assert.equal(hanging.wasKilled, true);
    assert.equal(scene.lives(1), 2);
    assert.equal(scene.lives(0), 1);
  });

  test('while it starts has longer', async () => {
    const scene = new SupervisorScene(1);
    const starting = scene.supervisor.start();
    const refused = assert.rejects(starting);
    await scene.settle();
    scene.life(0).isSound = false;
    await scene.pass(processHeartbeatMs * processStartHeartbeatsMax);
    assert.equal(scene.life(0).wasKilled, false);
    await scene.pass(processHeartbeatMs);
    assert.equal(scene.life(0).wasKilled, true);
    await refused;
  });
});

describe('a stop', () => {
  test('has the workers end first and the coordinator last', async () => {
    const scene = new SupervisorScene(2);
    await scene.started();
    for (const fork of scene.forks) fork.isSound = false;
    let isOver = false;
    const stopping = scene.supervisor.stop().then(() => (isOver = true));
    await scene.settle();
    assert.deepEqual(
      scene.forks.map((fork) => fork.has('stop')),
      [false, true, true],
    );
    assert.equal(scene.life(0).knowsStop, true);
    scene.life(1).die('exit code 0');
    await scene.settle();
    assert.equal(scene.life(0).has('stop'), false);
    scene.life(2).die('exit code 0');
    await scene.settle();
    assert.equal(scene.life(0).has('stop'), true);
    assert.equal(isOver, false);
    scene.life(0).die('exit code 0');
    await stopping;
    assert.equal(scene.forks.length, 3);
    assert.equal(scene.clock.pendingTimers, 0);
  });

  test('kills who does not stop by itself', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    const stuck = scene.life(1);
    stuck.order = () => undefined;
    const stopping = scene.supervisor.stop();
    scene.clock.advance(stopMsMax);
    await stopping;
    assert.equal(stuck.wasKilled, true);
    assert.equal(scene.life(0).wasKilled, false);
  });

  test('takes the spare with it', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    await scene.pass(processSpareDelayMs);
    await scene.supervisor.stop();
    assert.equal(scene.forks[2]?.wasKilled, true);
  });

  test('at once kills everybody', async () => {
    const scene = new SupervisorScene(2);
    await scene.started();
    scene.supervisor.kill();
    assert.deepEqual(
      scene.forks.map(({ wasKilled }) => wasKilled),
      [true, true, true],
    );
  });
});

describe('an upgrade where sockets do not pass from one process to another', () => {
  test('that is signalled is asked of the coordinator, which has the audit log, and done when it asks for it', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    const [coordinator, worker] = scene.forks;
    scene.supervisor.signalUpgrade();
    await scene.settle();
    assert.deepEqual([coordinator?.has('upgrade-signalled'), worker?.has('stop')], [true, false]);
    coordinator?.report({ kind: 'upgrade' });
    await scene.settle();
    assert.equal(worker?.has('stop'), true);
  });

  test('waits for each to be replaced before the next is drained', async () => {
    const scene = new SupervisorScene(2);
    await scene.started();
    const [, first, second] = scene.forks;
    const restarting = scene.supervisor.replace('workers');
    await scene.settle();
    assert.equal(first?.has('stop'), true);
    assert.equal(second?.has('stop'), false);
    assert.equal(scene.lives(1), 2);
    scene.life(1).ready();
    await scene.settle();
    assert.equal(second?.has('stop'), true);
    scene.life(2).ready();
    await restarting;
    assert.deepEqual(scene.life(0).members, ['0 coordinator up', '1 worker up', '2 worker up']);
    assert.equal(scene.lives(0), 1);
  });

  test('begins no worker with the spare, which has the code of before', async () => {
    const scene = new SupervisorScene(1);
    await scene.started();
    await scene.pass(processSpareDelayMs);
    const spare = scene.forks[2];
    const restarting = scene.supervisor.replace('workers');
    await scene.settle();
    scene.life(1).ready();
    await restarting;
    assert.equal(spare?.process, null);
    assert.equal(spare?.wasKilled, true);
    assert.equal(scene.forks[3]?.process, 1);
  });

  test('is ended by a stop', async () => {
    const scene = new SupervisorScene(2);
    await scene.started();
    const restarting = scene.supervisor.replace('workers');
    await scene.settle();
    await scene.supervisor.stop();
    await restarting;
    assert.equal(scene.lives(2), 1);
  });

  test('ends with one whose follower dies while it starts, and another is tried', async () => {
    const scene = new SupervisorScene(2);
    await scene.started();
    const restarting = scene.supervisor.replace('all');
    await scene.settle();
    scene.life(1).die('exit code 1');
    await restarting;
    await scene.settle();
    assert.deepEqual([scene.lives(0), scene.lives(1), scene.lives(2)], [1, 3, 1]);
    assert.equal(scene.life(0).upgrade.failure, 'process 1: it ended while it started: exit code 1');
  });
});

test('a reload reaches every process', async () => {
  const scene = new SupervisorScene(2);
  await scene.started();
  scene.supervisor.reload();
  assert.deepEqual(
    scene.forks.map((fork) => fork.has('reload')),
    [true, true, true],
  );
});
