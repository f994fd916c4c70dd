import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { decodeRegistryChange } from '../../../../src/cluster/registry/registry-change.ts';
import { RegistryPublisher } from '../../../../src/cluster/registry/registry-publisher.ts';
import type { RegistryChange } from '../../../../src/core/ports/mirrored.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly waiting = new Map<number, RegistryChange>();
  /** By key, what stands in the bucket. */
  readonly bucket = new Map<string, string>();
  puts = 0;
  /** The puts of these numbers are refused. */
  readonly refused = new Set<number>();
  #place = 0;
  #follower = (): void => undefined;
  readonly publisher = new RegistryPublisher({
    registry: {
      unshared: (limit) => Array.from(this.waiting, ([place, change]) => ({ place, change })).slice(0, limit),
      shared: async (places) => {
        for (const { place } of places) assert.ok(this.waiting.delete(place));
      },
      follow: (follower) => {
        this.#follower = follower;
        return () => undefined;
      },
    },
    clock: this.clock,
    log: this.log,
    put: (key, value) => this.#put(key, value),
  });

  change(id: string, row: string): void {
    this.waiting.set((this.#place += 1), { kind: 'device', id, row: Buffer.from(row) });
    this.#follower();
  }

  async #put(key: string, value: Uint8Array): Promise<number> {
    this.puts += 1;
    if (this.refused.has(this.puts)) throw new Error('NATS is away');
    const decoded = decodeRegistryChange(value);
    assert.ok(decoded.ok);
    const { id, row } = decoded.value;
    this.bucket.set(key, `${id} ${row === null ? 'gone' : Buffer.from(row).toString()}`);
    return this.puts;
  }

  async quiet(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) await setImmediate();
  }
}

test('what waited before the start is shared, and what comes later', async (t) => {
  const scene = new Scene();
  t.after(() => scene.publisher.stop());
  scene.change('a', '1');
  scene.publisher.start();
  await scene.quiet();
  scene.change('b', '2');
  await scene.quiet();
  assert.deepEqual(Array.from(scene.bucket.values()), ['a 1', 'b 2']);
  assert.equal(scene.waiting.size, 0);
});

test('of several changes of one entry only the last is sent, and all of them are shared', async (t) => {
  const scene = new Scene();
  t.after(() => scene.publisher.stop());
  for (const row of ['1', '2', '3']) scene.change('a', row);
  scene.publisher.start();
  await scene.quiet();
  assert.deepEqual(Array.from(scene.bucket.values()), ['a 3']);
  assert.equal(scene.puts, 1);
  assert.equal(scene.waiting.size, 0);
});

test('a change that is refused in the midst of others is put again after a second, and nothing else is', async (t) => {
  const scene = new Scene();
  t.after(() => scene.publisher.stop());
  scene.refused.add(2);
  for (const id of ['a', 'b', 'c']) scene.change(id, '1');
  scene.publisher.start();
  await scene.quiet();
  assert.deepEqual(Array.from(scene.bucket.values()), ['a 1', 'c 1']);
  scene.clock.advance(999);
  await scene.quiet();
  assert.equal(scene.puts, 3);
  scene.clock.advance(1);
  await scene.quiet();
  assert.deepEqual(Array.from(scene.bucket.values()), ['a 1', 'c 1', 'b 1']);
  assert.equal(scene.puts, 4);
  assert.deepEqual(
    scene.log.lines.map(({ level }) => level),
    ['warn', 'info'],
  );
});

test('an import of tens of thousands is shared whole', async (t) => {
  const scene = new Scene();
  t.after(() => scene.publisher.stop());
  for (let i = 0; i < 20_000; i++) scene.change(`device-${i}`, '1');
  scene.publisher.start();
  while (scene.waiting.size > 0) await setImmediate();
  assert.equal(scene.bucket.size, 20_000);
});
