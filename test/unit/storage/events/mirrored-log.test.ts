import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import { generateEventId, type DeviceId, type ProductId } from '../../../../src/model/ids.ts';
import { recentEventsOfDeviceMax } from '../../../../src/model/limits.ts';
import { EventRetention } from '../../../../src/storage/events/event-retention.ts';
import { MirroredLogStore } from '../../../../src/storage/events/mirrored-log.ts';
import { StoredEvents } from '../../../../src/storage/events/stored-events.ts';
import type { Store } from '../../../../src/storage/lmdb/open-store.ts';
import { mirrorEventsSlice } from '../../../../src/storage/lmdb/store-limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf, openJournal } from '../../../support/test-journal.ts';

const atMs = 1_800_000_000_000;

function eventAt(sequence: number, seq = sequence, device = 'door'): LoggedEvent {
  const id = generateEventId(atMs, sequence);
  return { ...draftOf(device, sequence, atMs), id, sequence, seq, productId: 'doorbell' as ProductId };
}

const eventsFrom = (first: number, last: number): LoggedEvent[] =>
  Array.from({ length: last - first + 1 }, (_, i) => eventAt(first + i));

function openMirror(t: TestContext, store: Store = temporaryStore(t)) {
  const { state } = store;
  const { events: log } = openJournal({ state });
  const received: number[] = [];
  log.follow((events) => received.push(...events.map(({ sequence }) => sequence)));
  let refusals = 0;
  const batch = (write: () => void): Promise<void> =>
    refusals-- > 0 ? Promise.reject(new Error('the disk is full')) : state.environment.transaction(write);
  const mirror = new MirroredLogStore(state, { events: log, batch });
  return { store, state, log, received, mirror, refuse: (count: number) => (refusals = count), batch };
}

const sequencesOf = (events: readonly LoggedEvent[]): number[] => events.map(({ sequence }) => sequence);

test('events of the stream keep their sequences, ids and seqs, and followers receive them', async (t) => {
  const { mirror, log, received } = openMirror(t);
  assert.equal(mirror.head, 0);
  const events = [eventAt(1, 1), eventAt(2, 1, 'gate'), eventAt(3, 2)];
  await mirror.append(events);
  assert.deepEqual(log.read(0, 10), events);
  assert.deepEqual([mirror.head, log.head, log.oldest], [3, 3, 1]);
  assert.deepEqual(received, [1, 2, 3]);
  assert.deepEqual(
    ['door', 'gate', 'nobody'].map((id) => mirror.seqOf(id as DeviceId)),
    [2, 1, 0],
  );
  assert.deepEqual(sequencesOf(log.recentOf('door' as DeviceId)), [3, 1]);
});

test('events that were mirrored already are skipped', async (t) => {
  const { mirror, log, received } = openMirror(t);
  await mirror.append(eventsFrom(1, 3));
  await mirror.append(eventsFrom(2, 5));
  await mirror.append(eventsFrom(1, 5));
  assert.deepEqual(sequencesOf(log.read(0, 10)), [1, 2, 3, 4, 5]);
  assert.deepEqual(received, [1, 2, 3, 4, 5]);
});

test('a stream may begin at any sequence', async (t) => {
  const { mirror, log } = openMirror(t);
  await mirror.append(eventsFrom(1001, 1003));
  assert.deepEqual([log.oldest, log.head], [1001, 1003]);
  assert.deepEqual(sequencesOf(log.read(0, 10)), [1001, 1002, 1003]);
});

test('many events are put in bounded batches, and all are published in order', async (t) => {
  const { mirror, log, received } = openMirror(t);
  const count = 2 * mirrorEventsSlice + 5;
  await mirror.append(eventsFrom(1, count));
  assert.equal(log.head, count);
  assert.equal(received.length, count);
  assert.deepEqual(
    received.toSorted((one, other) => one - other),
    received,
  );
  assert.equal(log.recentOf('door' as DeviceId).length, recentEventsOfDeviceMax);
});

test('after a jump earlier events are removed, a reader sees the gap, also after a restart', async (t) => {
  const mirrored = openMirror(t);
  const { mirror, log, received, state } = mirrored;
  await mirror.append(eventsFrom(1, mirrorEventsSlice + 3));
  await mirror.append(eventsFrom(9001, 9002));
  assert.deepEqual([log.oldest, log.head], [9001, 9002]);
  assert.deepEqual(sequencesOf(log.read(3, 10)), [9001, 9002]);
  assert.deepEqual(received.slice(-2), [9001, 9002]);
  assert.equal(Array.from(state.events.events.getKeys()).length, 2);
  assert.equal(mirror.seqOf('door' as DeviceId), 9002);
  const next = openMirror(t, mirrored.store);
  assert.deepEqual([next.mirror.head, next.log.oldest], [9002, 9001]);
});

test('a crash during a jump leaves a log that ends where it did', async (t) => {
  const mirrored = openMirror(t);
  const { mirror, state, log } = mirrored;
  await mirror.append(eventsFrom(1, 2 * mirrorEventsSlice));
  let batches = 0;
  const dying = new MirroredLogStore(state, {
    events: log,
    batch: (write) =>
      ++batches > 1 ? Promise.reject(new Error('dead')) : state.environment.transaction(write),
  });
  await assert.rejects(dying.append(eventsFrom(9001, 9001)), /dead/);
  const next = openMirror(t, mirrored.store);
  assert.deepEqual([next.log.oldest, next.mirror.head], [mirrorEventsSlice + 1, 2 * mirrorEventsSlice]);
  await next.mirror.append(eventsFrom(9001, 9001));
  assert.deepEqual([next.log.oldest, next.log.head], [9001, 9001]);
});

test('sequences without events cause no jump, inside a batch or if the caller has checked them', async (t) => {
  const { mirror, log, state, batch } = openMirror(t);
  await mirror.append([eventAt(1), eventAt(2), eventAt(4)]);
  await mirror.append([eventAt(6), eventAt(7)], true);
  assert.deepEqual([log.oldest, log.head], [1, 7]);
  assert.deepEqual(sequencesOf(log.read(0, 10)), [1, 2, 4, 6, 7]);
  assert.deepEqual(sequencesOf(log.read(2, 2)), [4, 6]);
  assert.deepEqual(sequencesOf(new StoredEvents(state).read(2, 9, 6)), [4, 6]);
  assert.equal(log.oldest, 1);
  const retention = new EventRetention(state, {
    clock: new DrivenClock(),
    log,
    batch,
    maxAgeMs: Infinity,
    maxCount: 4,
  });
  await retention.forget();
  assert.deepEqual(sequencesOf(log.read(0, 10)), [4, 6, 7]);
});

test('retention empties a log with holes to its end', async (t) => {
  const { mirror, log, state, batch } = openMirror(t);
  await mirror.append([eventAt(1), eventAt(3), eventAt(7)]);
  const clock = new DrivenClock(atMs + 1000);
  await new EventRetention(state, { clock, log, batch, maxAgeMs: 1001, maxCount: 100 }).forget();
  assert.equal(log.read(0, 10).length, 3);
  const retention = new EventRetention(state, { clock, log, batch, maxAgeMs: 1000, maxCount: 100 });
  clock.advance(60_000);
  await retention.forget();
  assert.deepEqual(log.read(0, 10), []);
  assert.equal(log.head, 7);
});

test('events that the store refused are absent, and are accepted when appended again', async (t) => {
  const { mirror, log, refuse } = openMirror(t);
  await mirror.append(eventsFrom(1, 2));
  refuse(1);
  await assert.rejects(mirror.append(eventsFrom(3, 4)), /full/);
  assert.deepEqual([mirror.head, log.head], [2, 2]);
  await mirror.append(eventsFrom(3, 4));
  assert.deepEqual(sequencesOf(log.read(0, 10)), [1, 2, 3, 4]);
});
