/** Conformance of a delivery store, for its writer and for its next owner. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventId } from '../../src/model/ids.ts';
import type {
  FailedEvent,
  HookChanges,
  HookRecord,
  ParkedEvent,
  DeliveryStore,
} from '../../src/core/ports/delivery-store.ts';
import type { Ending } from '../support/temporary-store.ts';
import { loggedEvent } from '../support/webhook-scene.ts';

export interface KeptDeliveryStore {
  readonly deliveries: DeliveryStore;
  /** The store as its next owner reads it. */
  readonly next: () => Promise<DeliveryStore>;
}

const failure = { atMs: 1_800_000_000_000, status: 500, reason: 'answered 500' };

function record(overrides: Partial<HookRecord> = {}): HookRecord {
  return {
    number: 1,
    cursor: 5,
    parked: 0,
    switchedOff: null,
    lastSuccessAtMs: null,
    lastFailure: null,
    ...overrides,
  };
}

function changes(overrides: Partial<HookChanges> = {}): HookChanges {
  const { number = 1 } = overrides;
  return {
    id: `app\nhttps://backend.example/${number}`,
    number,
    record: record({ number }),
    failed: new Map(),
    parked: new Map(),
    parkedTrimmed: 0,
    ...overrides,
  };
}

function failed(sequence: number, attempts = 1): FailedEvent {
  return { event: loggedEvent(sequence, `device-${sequence}`), attempts, dueAtMs: 1_800_000_000_500 };
}

function parked(sequence: number): ParkedEvent {
  return { event: loggedEvent(sequence, `device-${sequence}`), failure };
}

const failedOf = (...sequences: number[]): Map<number, FailedEvent> =>
  new Map(sequences.map((sequence) => [sequence, failed(sequence)]));
const parkedOf = (...sequences: number[]): Map<number, ParkedEvent> =>
  new Map(sequences.map((sequence) => [sequence, parked(sequence)]));
const sequencesOf = (entries: Iterable<FailedEvent | ParkedEvent>): number[] =>
  Array.from(entries, ({ event }) => event.sequence);

/** Reads through the writer and through the next owner. */
async function readers({ deliveries, next }: KeptDeliveryStore): Promise<readonly DeliveryStore[]> {
  return [deliveries, await next()];
}

export function deliveryStoreConformance(
  name: string,
  open: (t: Ending) => Promise<KeptDeliveryStore>,
): void {
  test(`${name}: a hook's record is read unchanged`, async (t) => {
    const kept = await open(t);
    const written = record({
      parked: 3,
      switchedOff: { atMs: 1_800_000_000_001, secretSha256: 'ab'.repeat(32) },
      lastSuccessAtMs: 1_800_000_000_002,
      lastFailure: failure,
    });
    await kept.deliveries.commit([
      changes({ record: written, parked: parkedOf(1, 2, 3) }),
      changes({ number: 2 }),
    ]);
    const expected = new Map([
      ['app\nhttps://backend.example/1', written],
      ['app\nhttps://backend.example/2', record({ number: 2 })],
    ]);
    for (const deliveries of await readers(kept)) assert.deepEqual(new Map(deliveries.hooks()), expected);
  });

  test(`${name}: failed and parked events are read unchanged, per hook and in the order of the log`, async (t) => {
    const kept = await open(t);
    await kept.deliveries.commit([
      changes({ failed: failedOf(300, 2, 70_000), parked: parkedOf(9, 4) }),
      changes({ number: 2, failed: failedOf(3), parked: parkedOf(5) }),
    ]);
    for (const deliveries of await readers(kept)) {
      assert.deepEqual([...deliveries.failed(1)], [failed(2), failed(300), failed(70_000)]);
      assert.deepEqual(deliveries.findFailed(1, 300), failed(300));
      assert.equal(deliveries.findFailed(2, 300), null);
      assert.deepEqual(deliveries.parked(1, 0, 10), [parked(4), parked(9)]);
      assert.deepEqual(sequencesOf(deliveries.parked(1, 4, 10)), [9]);
      assert.deepEqual(sequencesOf(deliveries.parked(1, 0, 1)), [4]);
      assert.deepEqual(await deliveries.findParked(1, 'event-9' as EventId), parked(9));
      assert.equal(await deliveries.findParked(1, 'event-5' as EventId), null);
    }
  });

  test(`${name}: replacements and removals take effect`, async (t) => {
    const kept = await open(t);
    await kept.deliveries.commit([changes({ failed: failedOf(1, 2), parked: parkedOf(3) })]);
    const replaced = new Map([
      [1, failed(1, 2)],
      [2, null],
    ]);
    await kept.deliveries.commit([changes({ failed: replaced, parked: new Map([[3, null]]) })]);
    for (const deliveries of await readers(kept)) {
      assert.deepEqual([...deliveries.failed(1)], [failed(1, 2)]);
      assert.deepEqual(deliveries.parked(1, 0, 10), []);
    }
  });

  test(`${name}: an abandoned event is parked, and no longer failed`, async (t) => {
    const kept = await open(t);
    await kept.deliveries.commit([changes({ failed: failedOf(5) })]);
    await kept.deliveries.commit([changes({ failed: new Map([[5, null]]), parked: parkedOf(5) })]);
    for (const deliveries of await readers(kept)) {
      assert.deepEqual([...deliveries.failed(1)], []);
      assert.deepEqual(deliveries.parked(1, 0, 10), [parked(5)]);
    }
  });

  test(`${name}: trimming removes the oldest events that were parked before`, async (t) => {
    const kept = await open(t);
    await kept.deliveries.commit([changes({ parked: parkedOf(5, 6, 7, 8) })]);
    await kept.deliveries.commit([changes({ parked: parkedOf(1), parkedTrimmed: 2 })]);
    for (const deliveries of await readers(kept))
      assert.deepEqual(sequencesOf(deliveries.parked(1, 0, 10)), [1, 7, 8]);
  });

  test(`${name}: a dropped hook is removed at once, its events and number with a sweep`, async (t) => {
    const kept = await open(t);
    const { deliveries } = kept;
    await deliveries.commit([
      changes({ failed: failedOf(1) }),
      changes({ number: 2, failed: failedOf(1), parked: parkedOf(2) }),
    ]);
    assert.equal(deliveries.freeNumber(), 3);
    await deliveries.commit([changes({ number: 2, record: null })]);
    assert.equal(deliveries.freeNumber(), 3, 'its number stays reserved while any of its events is left');
    for (const reader of await readers(kept)) assert.equal(reader.hooks().size, 1);
    await deliveries.sweep();
    for (const reader of await readers(kept)) {
      assert.deepEqual(sequencesOf(reader.failed(1)), [1]);
      assert.deepEqual([...reader.failed(2)], []);
      assert.deepEqual(reader.parked(2, 0, 10), []);
      assert.equal(reader.freeNumber(), 2);
    }
  });

  test(`${name}: a hook that is dropped and added in one commit has nothing of its former state`, async (t) => {
    const kept = await open(t);
    await kept.deliveries.commit([changes({ failed: failedOf(1) })]);
    const id = 'app\nhttps://backend.example/1';
    await kept.deliveries.commit([
      changes({ record: null }),
      changes({ id, number: 2, failed: failedOf(2) }),
    ]);
    for (const deliveries of await readers(kept)) {
      assert.equal(deliveries.hooks().get(id)?.number, 2);
      assert.deepEqual(sequencesOf(deliveries.failed(2)), [2]);
    }
  });

  test(`${name}: an empty commit changes nothing`, async (t) => {
    const kept = await open(t);
    await kept.deliveries.commit([]);
    for (const deliveries of await readers(kept)) {
      assert.equal(deliveries.hooks().size, 0);
      assert.equal(deliveries.freeNumber(), 1);
    }
  });
}
