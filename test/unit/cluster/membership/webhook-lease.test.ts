import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { WebhookLease } from '../../../../src/cluster/membership/webhook-lease.ts';
import type { MemberId } from '../../../../src/model/cluster.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { MemoryKvStore } from '../../../support/memory-kv-store.ts';

const nodeA = 'node-a/0@1' as MemberId;
const nodeB = 'node-b/0@1' as MemberId;

class Scene {
  readonly clock = new DrivenClock();
  readonly kv = new MemoryKvStore();
  readonly log = new FakeLog();
  readonly changes: string[] = [];
  readonly dead = new Set<MemberId>();

  lease(self: MemberId, kv = this.kv): WebhookLease {
    return new WebhookLease({
      kv,
      clock: this.clock,
      log: this.log,
      self,
      isAlive: (member) => !this.dead.has(member),
      onGained: () => this.changes.push(`${self[5]} gained`),
      onLost: () => this.changes.push(`${self[5]} lost`),
    });
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      this.clock.advance(500);
      for (let turn = 0; turn < 3; turn++) await setImmediate();
    }
  }
}

test('of two nodes one has the lease, and keeps it', async () => {
  const scene = new Scene();
  const [one, other] = [scene.lease(nodeA), scene.lease(nodeB)];
  one.start();
  other.start();
  await scene.pass(60_000);
  assert.deepEqual(scene.changes, ['a gained']);
  assert.equal(one.isHeld, true);
  assert.equal(other.isHeld, false);
  assert.equal(other.holder, nodeA);
});

test('a holder that is gone is followed by another node', async () => {
  const scene = new Scene();
  const [one, other] = [scene.lease(nodeA), scene.lease(nodeB)];
  one.start();
  await scene.pass(500);
  other.start();
  await scene.pass(3000);
  scene.dead.add(nodeA);
  await scene.pass(3000);
  assert.equal(other.isHeld, true);
  assert.deepEqual(scene.changes.slice(0, 2), ['a gained', 'b gained']);
  await scene.pass(3000);
  assert.deepEqual(scene.changes, ['a gained', 'b gained', 'a lost'], 'the old holder finds that it is not');
});

test('a holder that lets go is followed at the next look', async () => {
  const scene = new Scene();
  const [one, other] = [scene.lease(nodeA), scene.lease(nodeB)];
  one.start();
  await scene.pass(500);
  other.start();
  await one.release();
  assert.equal(one.isHeld, false);
  await scene.pass(3000);
  assert.deepEqual(scene.changes, ['a gained', 'b gained']);
});

test('a holder that cannot renew stops before another may call it gone, and may hold it again', async () => {
  const scene = new Scene();
  const one = scene.lease(nodeA);
  one.start();
  await scene.pass(1000);
  scene.kv.isUnavailable = true;
  await scene.pass(4500);
  assert.deepEqual(scene.changes, ['a gained']);
  await scene.pass(1000);
  assert.deepEqual(scene.changes, ['a gained', 'a lost']);
  assert.equal(one.isHeld, false);
  scene.kv.isUnavailable = false;
  await scene.pass(3000);
  assert.deepEqual(scene.changes, ['a gained', 'a lost', 'a gained']);
});

test('a renewal that takes longer than the lease renews nothing', async () => {
  const scene = new Scene();
  const one = scene.lease(nodeA);
  one.start();
  await scene.pass(1000);
  const answer = scene.kv.compareAndSet.bind(scene.kv);
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  scene.kv.compareAndSet = async (...args) => {
    await held;
    return answer(...args);
  };
  await scene.pass(6000);
  assert.deepEqual(scene.changes, ['a gained', 'a lost']);
  release();
  await scene.pass(500);
  assert.equal(one.isHeld, false);
});

test('a holder whose time ran out while another took the lease loses it once', async () => {
  const scene = new Scene();
  const one = scene.lease(nodeA);
  one.start();
  await scene.pass(1000);
  scene.kv.withhold();
  await scene.pass(6000);
  assert.deepEqual(scene.changes, ['a gained', 'a lost']);
  scene.dead.add(nodeA);
  scene.lease(nodeB, scene.kv.bucket.open()).start();
  await scene.pass(500);
  scene.kv.release();
  await scene.pass(500);
  assert.deepEqual(scene.changes, ['a gained', 'a lost', 'b gained']);
});
