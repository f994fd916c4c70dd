import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { ChildLife } from '../../../../src/server/children/child-life.ts';
import type { CoreChildKind } from '../../../../src/server/site/core-task.ts';
import {
  coreStartMsMax,
  spareCoreDelayMs,
  spareCoreRetryMs,
} from '../../../../src/server/site/site-limits.ts';
import { SpareCore } from '../../../../src/server/site/spare-core.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeChild } from '../../../support/fake-children.ts';
import { FakeLog } from '../../../support/fakes.ts';

class SpareScene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly forks: FakeChild<CoreChildKind>[] = [];
  noProcess: Error | null = null;
  readonly spare = new SpareCore({
    clock: this.clock,
    log: this.log,
    start: () => {
      if (this.noProcess !== null) throw this.noProcess;
      const fork = new FakeChild<CoreChildKind>(this.clock, 100 + this.forks.length);
      this.forks.push(fork);
      return new ChildLife(fork, { clock: this.clock, name: 'core', startMsMax: coreStartMsMax });
    },
  });

  /** Messages of the log. */
  get messages(): string[] {
    return this.log.lines.map(({ message }) => message);
  }

  /** A loaded spare. */
  async waiting(): Promise<FakeChild<CoreChildKind>> {
    this.spare.prepare();
    this.clock.advance(spareCoreDelayMs);
    const [fork = assert.fail('a spare was started')] = this.forks;
    fork.load();
    await this.turns();
    return fork;
  }

  async turns(): Promise<void> {
    for (let i = 0; i < 8; i += 1) await turn();
  }
}

test('a spare core is started with a delay after a core serves, and is handed out once', async () => {
  const { spare, forks, clock } = new SpareScene();
  spare.prepare();
  spare.prepare();
  clock.advance(spareCoreDelayMs - 1);
  assert.equal(forks.length, 0);
  clock.advance(1);
  spare.prepare();
  assert.deepEqual([forks.length, clock.pendingTimers > 0], [1, true]);
  assert.equal(spare.acquire()?.pid, 100);
  assert.equal(spare.acquire(), null);
});

test('the death of a core cancels the pending start of its spare', () => {
  const { spare, forks, clock } = new SpareScene();
  spare.prepare();
  assert.equal(spare.acquire(), null);
  clock.advance(2 * spareCoreDelayMs);
  assert.equal(forks.length, 0);
});

test('an acquired spare is no longer replaced when it dies', async () => {
  const scene = new SpareScene();
  const fork = await scene.waiting();
  scene.spare.acquire();
  fork.die('SIGKILL');
  await scene.turns();
  assert.deepEqual(scene.messages, ['spare core: ready']);
  assert.equal(scene.clock.pendingTimers, 0);
});

test('a spare that dies, or cannot be started, is restarted after a minute, with one line in the log', async () => {
  const scene = new SpareScene();
  const fork = await scene.waiting();
  fork.die('SIGKILL');
  await scene.turns();
  scene.noProcess = new Error('no process can be started');
  scene.clock.advance(spareCoreRetryMs);
  scene.noProcess = null;
  scene.clock.advance(spareCoreRetryMs - 1);
  assert.equal(scene.forks.length, 1);
  scene.clock.advance(1);
  assert.equal(scene.forks.length, 2);
  assert.deepEqual(scene.messages, [
    'spare core: ready',
    'spare core: died; will retry',
    'spare core: cannot start; will retry',
  ]);
});

test('an upgrade replaces the spare of the previous release', async () => {
  const scene = new SpareScene();
  const fork = await scene.waiting();
  scene.spare.renew();
  await scene.turns();
  assert.deepEqual(fork.asked, ['killed']);
  scene.clock.advance(spareCoreDelayMs);
  assert.equal(scene.forks.length, 2);
  assert.deepEqual(scene.messages, ['spare core: ready']);
});

test('a stop ends the spare without a restart', async () => {
  const scene = new SpareScene();
  const fork = await scene.waiting();
  scene.spare.close();
  await scene.turns();
  assert.deepEqual(fork.asked, ['killed']);
  scene.spare.prepare();
  scene.clock.advance(spareCoreRetryMs);
  assert.equal(scene.forks.length, 1);
});
