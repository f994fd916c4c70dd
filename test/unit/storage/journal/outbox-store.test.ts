import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asBinary } from 'lmdb';
import { eventKey } from '../../../../src/storage/events/event-rows.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import { OutboxStore } from '../../../../src/storage/journal/outbox-store.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { outboxItems } from '../../../support/outbox-items.ts';
import { closedAfter, temporaryStore } from '../../../support/temporary-store.ts';

async function put({ state }: Pick<Store, 'state'>, outbox: OutboxStore, count: number): Promise<number[]> {
  const items = outboxItems();
  const placed = Array.from({ length: count }, (_, i) => {
    const item = items[i % items.length];
    assert.ok(item !== undefined);
    return { place: outbox.lastPlace + 1 + i, item };
  });
  await state.environment.transaction(() => outbox.put(placed));
  return placed.map(({ place }) => place);
}

const placesOf = (outbox: OutboxStore, after: number, limit: number): number[] =>
  outbox.read(after, limit).map(({ place }) => place);

test('a read returns items in order, after a place and up to its limit', async (t) => {
  const store = temporaryStore(t);
  const outbox = new OutboxStore(store.state, new FakeLog());
  assert.equal(outbox.length, 0);
  await put(store, outbox, 7);
  assert.equal(outbox.length, 7);
  assert.deepEqual(placesOf(outbox, 0, 100), [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(placesOf(outbox, 2, 3), [3, 4, 5]);
  assert.deepEqual(placesOf(outbox, 7, 3), []);
  assert.deepEqual(placesOf(outbox, 0, 0), []);
  assert.deepEqual(
    outbox.read(0, 7).map(({ item }) => item.kind),
    outboxItems().map(({ kind }) => kind),
  );
});

test('a removed item stays removed, a second removal changes nothing, and other items stay', async (t) => {
  const store = temporaryStore(t);
  const outbox = new OutboxStore(store.state, new FakeLog());
  await put(store, outbox, 4);
  await outbox.forget([3, 1]);
  await outbox.forget([3, 1]);
  assert.deepEqual(placesOf(outbox, 0, 10), [2, 4]);
  assert.equal(outbox.length, 2);
});

test('no place is assigned twice, even if all items were removed before a restart', async (t) => {
  const store = temporaryStore(t);
  const outbox = new OutboxStore(store.state, new FakeLog());
  const places = await put(store, outbox, 3);
  await outbox.forget(places);
  await store.close();
  const again = closedAfter(t, openStore(store.directory));
  const next = new OutboxStore(again.state, new FakeLog());
  assert.equal(next.length, 0);
  assert.equal(next.lastPlace, 3);
});

test('an unreadable row is skipped, logged once, stays stored, and blocks no reader', async (t) => {
  const store = temporaryStore(t);
  const log = new FakeLog();
  const outbox = new OutboxStore(store.state, log);
  await put(store, outbox, 3);
  await store.state.environment.transaction(
    () => void store.state.outbox.items.put(eventKey(2), asBinary(Buffer.from([0xd4, 0x72, 0x40]))),
  );
  assert.deepEqual(placesOf(outbox, 0, 2), [1, 3]);
  assert.deepEqual(placesOf(outbox, 0, 2), [1, 3]);
  assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1);
  assert.equal(outbox.length, 2);
  await outbox.forget([1, 3]);
  assert.equal(outbox.length, 0);
  assert.deepEqual(placesOf(outbox, 0, 2), []);
  assert.equal(store.state.outbox.items.getKeysCount(), 1);
});

test('a follower is notified until it cancels, and one that throws does not affect others', (t) => {
  const log = new FakeLog();
  const outbox = new OutboxStore(temporaryStore(t).state, log);
  const calls: string[] = [];
  outbox.follow(() => {
    throw new Error('no');
  });
  const cancel = outbox.follow(() => calls.push('notified'));
  outbox.notify();
  cancel();
  outbox.notify();
  assert.deepEqual(calls, ['notified']);
});
