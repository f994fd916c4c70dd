import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { encodeRegistryChange } from '../../../../src/cluster/registry/registry-change.ts';
import { RegistryMirror } from '../../../../src/cluster/registry/registry-mirror.ts';
import type { RegistryChange } from '../../../../src/core/ports/mirrored.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { MemoryStream } from '../../../support/memory-stream.ts';

class Scene {
  readonly clock = new DrivenClock();
  readonly log = new FakeLog();
  readonly stream = new MemoryStream(this.clock);
  readonly rows = new Map<string, string>();
  readonly registry = {
    position: 0,
    apply: async (changes: readonly RegistryChange[], position: number): Promise<void> => {
      await setImmediate();
      for (const { id, row } of changes)
        if (row === null) this.rows.delete(id);
        else this.rows.set(id, Buffer.from(row).toString());
      this.registry.position = position;
    },
  };
  readonly mirror = new RegistryMirror({
    source: this.stream,
    registry: this.registry,
    clock: this.clock,
    log: this.log,
  });

  share(id: string, row: string | null): void {
    this.stream.add(
      encodeRegistryChange({ kind: 'device', id, row: row === null ? null : Buffer.from(row) }),
    );
  }

  async quiet(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await setImmediate();
  }
}

test('entries and deletions of the bucket come to stand here, and the start can wait for them', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.share('a', '1');
  scene.share('b', '1');
  scene.share('a', '2');
  scene.share('b', null);
  scene.mirror.start();
  assert.equal(await scene.mirror.caughtUp(1000), true);
  assert.deepEqual(Array.from(scene.rows), [['a', '2']]);
  assert.equal(scene.registry.position, 4);
  assert.equal(await scene.mirror.caughtUp(1000), true, 'and it stays so');
});

test('a node whose NATS is away starts with what it has', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.stream.isUnavailable = true;
  scene.mirror.start();
  const caughtUp = scene.mirror.caughtUp(3000);
  scene.clock.advance(3000);
  assert.equal(await caughtUp, false);
});

test('a bucket in which nothing is new is caught up at once', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.share('a', '1');
  scene.registry.position = 1;
  scene.mirror.start();
  assert.equal(await scene.mirror.caughtUp(1000), true);
  assert.equal(scene.rows.size, 0);
});

test('what is no entry is passed over', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.stream.add(Buffer.from('rubbish'));
  scene.share('a', '1');
  scene.mirror.start();
  await scene.mirror.caughtUp(1000);
  assert.deepEqual(Array.from(scene.rows), [['a', '1']]);
  assert.equal(scene.log.lines[0]?.level, 'error');
});

test('a bucket that was made anew is read from its beginning, and nothing that is here is dropped', async (t) => {
  const scene = new Scene();
  t.after(() => scene.mirror.stop());
  scene.rows.set('old', '1');
  scene.registry.position = 90;
  scene.share('a', '1');
  scene.mirror.start();
  await scene.quiet();
  scene.clock.advance(500);
  await scene.mirror.caughtUp(1000);
  assert.deepEqual(Array.from(scene.rows.keys()), ['old', 'a']);
  assert.match(scene.log.lines[0]?.message ?? '', /made anew/);
});
