import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HookChanges } from '../../../../src/core/ports/delivery-store.ts';
import { ReplicatedDeliveryStore } from '../../../../src/webhooks/delivery/replicated-delivery-store.ts';
import { MemoryDeliveryStore } from '../../../support/memory-delivery-store.ts';
import { bad, loggedEvent, WebhookScene } from '../../../support/webhook-scene.ts';

const record = {
  number: 1,
  cursor: 9,
  parked: 0,
  switchedOff: null,
  lastSuccessAtMs: null,
  lastFailure: null,
};
const nothing = { id: 'hook', number: 1, record, failed: new Map(), parked: new Map(), parkedTrimmed: 0 };
const failure = { atMs: 1, status: 500, reason: 'answered 500' };

test('nothing is committed here that was not kept elsewhere first', async () => {
  const deliveries = new MemoryDeliveryStore();
  const shared = new ReplicatedDeliveryStore(deliveries, () => Promise.reject(new Error('NATS is away')));
  await assert.rejects(shared.commit([nothing]), /away/);
  assert.equal(deliveries.records.size, 0);
});

test('parked events that are trimmed are named where they are kept elsewhere', async () => {
  const deliveries = new MemoryDeliveryStore();
  const kept: HookChanges[] = [];
  const shared = new ReplicatedDeliveryStore(deliveries, async (changes) => void kept.push(...changes));
  const parked = new Map(
    [2, 5, 7].map((sequence) => [sequence, { event: loggedEvent(sequence, 'd'), failure }]),
  );
  await shared.commit([{ ...nothing, parked }]);
  await shared.commit([{ ...nothing, parkedTrimmed: 2 }]);
  assert.deepEqual(kept.at(-1), {
    ...nothing,
    parked: new Map([
      [2, null],
      [5, null],
    ]),
  });
  assert.deepEqual(
    deliveries.parked(1, 0, 10).map(({ event }) => event.sequence),
    [7],
  );
});

test('an engine whose delivery store cannot be kept elsewhere delivers on, and tells when it can again', async () => {
  const deliveries = new MemoryDeliveryStore();
  let isUnavailable = true;
  const shared = new ReplicatedDeliveryStore(deliveries, async () => {
    if (isUnavailable) throw new Error('NATS is away');
  });
  const scene = new WebhookScene({ deliveries: shared });
  await scene.happen('a');
  await scene.answer(1, bad);
  await scene.pass(1000);
  assert.equal(deliveries.failed(1).length, 0);
  isUnavailable = false;
  await scene.pass(1000);
  await scene.pass(1000);
  assert.deepEqual(
    deliveries.failed(1).map(({ attempts }) => attempts),
    [1],
  );
});
