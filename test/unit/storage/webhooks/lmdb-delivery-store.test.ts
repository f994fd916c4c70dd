import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventId } from '../../../../src/model/ids.ts';
import type { HookChanges } from '../../../../src/core/ports/delivery-store.ts';
import { LmdbDeliveryStore, WebhookTables } from '../../../../src/storage/webhooks/lmdb-delivery-store.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';
import { loggedEvent } from '../../../support/webhook-scene.ts';

const failure = { atMs: 1, status: null, reason: 'no answer' };
const record = {
  number: 1,
  cursor: 7,
  parked: 0,
  switchedOff: null,
  lastSuccessAtMs: null,
  lastFailure: null,
};

function changesOf(count: number, hook: Partial<HookChanges> = {}): HookChanges {
  const sequences = Array.from({ length: count }, (_, i) => i + 1);
  return {
    id: 'app\nurl',
    number: 1,
    record,
    failed: new Map(
      sequences.map((sequence) => [
        sequence,
        { event: loggedEvent(sequence, 'device'), attempts: 1, dueAtMs: 1 },
      ]),
    ),
    parked: new Map(
      sequences.map((sequence) => [sequence, { event: loggedEvent(sequence, 'device'), failure }]),
    ),
    parkedTrimmed: 0,
    ...hook,
  };
}

function countFailed(deliveries: LmdbDeliveryStore, number: number): number {
  return [...deliveries.failed(number)].length;
}

test('committed changes are there after the store is reopened, also for another reader', async (t) => {
  const directory = temporaryDirectory(t);
  const tables = new WebhookTables(directory);
  await new LmdbDeliveryStore(tables).commit([changesOf(3)]);
  await tables.environment.close();
  const looked = new WebhookTables(directory);
  t.after(() => looked.environment.close());
  const deliveries = new LmdbDeliveryStore(looked);
  assert.deepEqual([...deliveries.hooks()], [['app\nurl', record]]);
  assert.equal(countFailed(deliveries, 1), 3);
  assert.equal(countFailed(deliveries, 2), 0);
});

test('sweeps and searches span several slices', async (t) => {
  const tables = new WebhookTables(temporaryDirectory(t));
  t.after(() => tables.environment.close());
  const deliveries = new LmdbDeliveryStore(tables);
  await deliveries.commit([
    changesOf(1200),
    changesOf(3, { id: 'app\nother', number: 7, record: { ...record, number: 7 } }),
  ]);
  assert.equal((await deliveries.findParked(1, 'event-1199' as EventId))?.event.sequence, 1199);
  await deliveries.commit([changesOf(0, { record: null })]);
  await deliveries.sweep();
  assert.equal(countFailed(deliveries, 1), 0);
  assert.deepEqual(deliveries.parked(1, 0, 10), []);
  assert.equal(countFailed(deliveries, 7), 3);
});

test('a number that a parked or failed event still has is not free', async (t) => {
  const tables = new WebhookTables(temporaryDirectory(t));
  t.after(() => tables.environment.close());
  const deliveries = new LmdbDeliveryStore(tables);
  await deliveries.commit([changesOf(1, { number: 4, parked: new Map() })]);
  await deliveries.commit([changesOf(1, { number: 5, failed: new Map() })]);
  await deliveries.commit([changesOf(0, { number: 5, record: null })]);
  assert.equal(deliveries.freeNumber(), 6);
});

test('every commit is replicated first, with each trimmed event by sequence', async (t) => {
  const tables = new WebhookTables(temporaryDirectory(t));
  t.after(() => tables.environment.close());
  const kept: HookChanges[] = [];
  let isAway = true;
  const deliveries = new LmdbDeliveryStore(tables, async (changes) => {
    if (isAway) throw new Error('NATS is away');
    kept.push(...changes);
  });
  await assert.rejects(deliveries.commit([changesOf(3)]), /away/);
  assert.equal(deliveries.hooks().size, 0);
  isAway = false;
  await deliveries.commit([changesOf(3)]);
  await deliveries.commit([changesOf(0, { parkedTrimmed: 2 })]);
  const trimmed = new Map([1, 2].map((sequence) => [sequence, null]));
  assert.deepEqual(kept.at(-1), changesOf(0, { parked: trimmed }));
  assert.deepEqual(
    deliveries.parked(1, 0, 10).map(({ event }) => event.sequence),
    [3],
  );
});
