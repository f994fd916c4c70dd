import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NatsDeliveryStore } from '../../../../src/cluster/records/nats-delivery-store.ts';
import type { FailedEvent, HookChanges, HookRecord } from '../../../../src/core/ports/delivery-store.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { MemoryKvStore } from '../../../support/memory-kv-store.ts';
import { MemoryDeliveryStore } from '../../../support/memory-delivery-store.ts';
import { loggedEvent } from '../../../support/webhook-scene.ts';

const failure = { atMs: 5, status: 500, reason: 'answered 500' };

class Scene {
  readonly kv = new MemoryKvStore();
  readonly log = new FakeLog();
  isHolder = true;
  readonly repository = this.another();

  another(): NatsDeliveryStore {
    return new NatsDeliveryStore({ kv: this.kv, log: this.log, mayWrite: () => this.isHolder });
  }

  /** As the next holder loads it. */
  async loaded(): Promise<MemoryDeliveryStore> {
    const deliveries = new MemoryDeliveryStore();
    await this.another().load((changes) => deliveries.commit(changes));
    return deliveries;
  }

  /** Sequences of the failed events of hook 1 that the next holder loads. */
  async failedSequences(): Promise<number[]> {
    return (await this.loaded()).failed(1).map(({ event }) => event.sequence);
  }
}

function changes(cursor: number, overrides: Partial<HookChanges> = {}): HookChanges {
  const number = overrides.number ?? 1;
  const record: HookRecord = {
    number,
    cursor,
    parked: 0,
    switchedOff: null,
    lastSuccessAtMs: 7,
    lastFailure: failure,
  };
  return {
    id: `app\nhttps://hook-${number}.example`,
    number,
    record,
    failed: new Map(),
    parked: new Map(),
    parkedTrimmed: 0,
    ...overrides,
  };
}

const failed = (sequence: number, attempts = 1): FailedEvent => ({
  event: loggedEvent(sequence, 'device'),
  attempts,
  dueAtMs: 9000.25,
});

test('what is settled goes, and its place in the bucket is used again', async () => {
  const scene = new Scene();
  await scene.repository.load(async () => undefined);
  for (let sequence = 1; sequence <= 100; sequence++) {
    await scene.repository.keep([changes(sequence, { failed: new Map([[sequence, failed(sequence)]]) })]);
    await scene.repository.keep([changes(sequence, { failed: new Map([[sequence, null]]) })]);
  }
  assert.equal(scene.kv.bucket.entries.size, 2);
  const next = scene.another();
  await next.load(async () => undefined);
  await next.keep([changes(101, { failed: new Map([[101, failed(101)]]) })]);
  assert.equal(scene.kv.bucket.entries.size, 2, 'also by the next holder');
  assert.deepEqual((await scene.loaded()).failed(1), [failed(101)]);
});

test('wherever a crash comes, no cursor has passed a failed event that is not there', async () => {
  const before = changes(5, { failed: new Map([[5, failed(5)]]) });
  const after = changes(9, {
    failed: new Map([
      [5, null],
      [7, failed(7)],
      [9, failed(9)],
    ]),
  });
  let crashes = 0;
  for (let at = 1; ; at++) {
    const scene = new Scene();
    await scene.repository.load(async () => undefined);
    await scene.repository.keep([before]);
    scene.kv.failFrom = scene.kv.puts + at;
    const isKept = await scene.repository.keep([after]).then(
      () => true,
      () => false,
    );
    scene.kv.failFrom = 0;
    const deliveries = await scene.loaded();
    const sequences = new Set(deliveries.failed(1).map(({ event }) => event.sequence));
    const [record] = deliveries.records.values();
    if (record?.cursor === 9) assert.ok([7, 9].every((sequence) => sequences.has(sequence)));
    else assert.ok(sequences.has(5));
    if (isKept) break;
    crashes += 1;
    await scene.repository.keep([after]);
    assert.deepEqual(await scene.failedSequences(), [7, 9], 'and it may be asked again');
  }
  assert.equal(crashes, 4);
});

test('an event that a dead node set aside ahead of the cursor is left to be read in its turn', async () => {
  const scene = new Scene();
  await scene.repository.load(async () => undefined);
  const waiting = [failed(4, 0), failed(6, 0), failed(7, 1)];
  const kept = new Map(waiting.map((entry) => [entry.event.sequence, entry]));
  await scene.repository.keep([changes(5, { failed: kept })]);
  assert.deepEqual(await scene.failedSequences(), [4, 7]);
  assert.deepEqual(await scene.failedSequences(), [4, 7], 'its entry is gone');
  assert.equal(scene.kv.bucket.entries.size, 4);
});

test('a node whose turn is over writes nothing', async () => {
  const scene = new Scene();
  await scene.repository.load(async () => undefined);
  scene.isHolder = false;
  await assert.rejects(scene.repository.keep([changes(1)]), /another node/);
  assert.equal(scene.kv.puts, 0);
});

test('ten thousand failed events are handed over in bounded portions', async () => {
  const scene = new Scene();
  await scene.repository.load(async () => undefined);
  const many = new Map(Array.from({ length: 10_000 }, (_, at) => [at + 1, failed(at + 1)]));
  await scene.repository.keep([changes(10_000, { failed: many })]);
  let entries = 0;
  let largest = 0;
  await scene.another().load(async (portion) => {
    const size = portion.reduce((sum, { failed }) => sum + failed.size, 0);
    entries += size;
    largest = Math.max(largest, size);
  });
  assert.equal(entries, 10_000);
  assert.ok(largest <= 512, `${largest}`);
});
