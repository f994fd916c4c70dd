import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { FailedEvent, HookRecord } from '../../../../src/core/ports/delivery-store.ts';
import { WriteBuffer } from '../../../../src/webhooks/delivery/write-buffer.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { MemoryDeliveryStore } from '../../../support/memory-delivery-store.ts';
import { loggedEvent } from '../../../support/webhook-scene.ts';

const limits = { commitMs: 50, commitIdleMs: 1000, commitRetryMs: 1000, changesWaitingMax: 3 };

class WriteBufferScene {
  readonly clock = new DrivenClock();
  readonly deliveries = new MemoryDeliveryStore();
  readonly log = new FakeLog();
  readonly writeBuffer = new WriteBuffer({
    deliveries: this.deliveries,
    clock: this.clock,
    log: this.log,
    limits,
  });
  readonly hook = { id: 'app\nurl', number: 1, cursor: 0, record: (): HookRecord => this.#record() };

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await setImmediate();
  }

  get cursor(): number | null {
    return this.deliveries.hooks().get(this.hook.id)?.cursor ?? null;
  }

  failed(sequence: number): FailedEvent {
    return { event: loggedEvent(sequence, 'device'), attempts: 1, dueAtMs: 1 };
  }

  #record(): HookRecord {
    const { number, cursor } = this.hook;
    return { number, cursor, parked: 0, switchedOff: null, lastSuccessAtMs: null, lastFailure: null };
  }
}

test('changes are collected for 50 ms and committed together, in their latest state', async () => {
  const scene = new WriteBufferScene();
  scene.hook.cursor = 1;
  scene.writeBuffer.touch(scene.hook);
  scene.hook.cursor = 2;
  scene.writeBuffer.setFailed(scene.hook, 2, scene.failed(2));
  await scene.pass(49);
  assert.equal(scene.deliveries.commits, 0);
  await scene.pass(1);
  assert.equal(scene.deliveries.commits, 1);
  assert.equal(scene.cursor, 2);
  assert.equal([...scene.deliveries.failed(1)].length, 1);
});

test('a cursor moved by events of others is committed within a second, or with the next own change', async () => {
  const scene = new WriteBufferScene();
  scene.writeBuffer.touch(scene.hook, true);
  await scene.pass(999);
  assert.equal(scene.deliveries.commits, 0);
  await scene.pass(1);
  assert.equal(scene.deliveries.commits, 1);
  scene.writeBuffer.touch(scene.hook, true);
  scene.writeBuffer.touch(scene.hook);
  await scene.pass(50);
  assert.equal(scene.deliveries.commits, 2);
  await scene.pass(5000);
  assert.equal(scene.deliveries.commits, 2);
});

test('a rejected commit is retried unchanged: no later cursor without its failed events', async () => {
  const scene = new WriteBufferScene();
  scene.deliveries.failure = new Error('the disk is full');
  scene.hook.cursor = 1;
  scene.writeBuffer.touch(scene.hook);
  await scene.pass(50);
  scene.hook.cursor = 2;
  scene.writeBuffer.setFailed(scene.hook, 2, scene.failed(2));
  await scene.pass(900);
  scene.deliveries.failure = null;
  await scene.pass(100);
  assert.equal(scene.cursor, 1);
  await scene.pass(50);
  assert.equal(scene.cursor, 2);
  assert.deepEqual(
    scene.log.lines.map(({ level }) => level),
    ['error', 'info'],
  );
});

test('a rejecting store is retried once a second, and the buffer reports full', async () => {
  const scene = new WriteBufferScene();
  scene.deliveries.failure = new Error('the disk is full');
  let asked = 0;
  scene.deliveries.commit = (changes) => {
    asked += 1;
    return MemoryDeliveryStore.prototype.commit.call(scene.deliveries, changes);
  };
  for (let sequence = 1; sequence <= 3; sequence++) {
    assert.equal(scene.writeBuffer.isFull, false);
    scene.writeBuffer.setFailed(scene.hook, sequence, scene.failed(sequence));
    await scene.pass(50);
  }
  assert.equal(scene.writeBuffer.isFull, true);
  await scene.pass(3000);
  assert.ok(asked <= 4, `${asked} times`);
  assert.equal(await scene.writeBuffer.flush(), false);
  scene.deliveries.failure = null;
  assert.equal(await scene.writeBuffer.flush(), true);
  assert.equal(scene.writeBuffer.isFull, false);
  assert.equal([...scene.deliveries.failed(1)].length, 3);
});

test('the copy of a failed event is found before, during and after its commit, and not after its removal', async () => {
  const scene = new WriteBufferScene();
  const find = (): string | undefined => scene.writeBuffer.findEvent(1, 7)?.id;
  scene.writeBuffer.setFailed(scene.hook, 7, scene.failed(7));
  assert.equal(find(), 'event-7');
  const flushing = scene.writeBuffer.flush();
  assert.equal(find(), 'event-7');
  await flushing;
  assert.equal(find(), 'event-7');
  scene.writeBuffer.setFailed(scene.hook, 7, null);
  assert.equal(find(), undefined);
  await scene.writeBuffer.flush();
  assert.equal(find(), undefined);
});

test('a dropped hook commits only its removal', async () => {
  const scene = new WriteBufferScene();
  scene.writeBuffer.touch(scene.hook);
  await scene.writeBuffer.flush();
  scene.writeBuffer.setFailed(scene.hook, 7, scene.failed(7));
  scene.writeBuffer.drop(scene.hook);
  await scene.writeBuffer.flush();
  assert.equal(scene.cursor, null);
  assert.deepEqual([...scene.deliveries.failed(1)], []);
});
