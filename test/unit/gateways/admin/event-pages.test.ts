import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { eventsScannedMax } from '../../../../src/model/limits.ts';
import {
  type EventFilter,
  findPlace,
  readForward,
  readNewest,
} from '../../../../src/gateways/admin/event-pages.ts';
import { DraftedEventLog, signalOffline, sleepLogin } from '../../../support/drafted-event-log.ts';

const everything: EventFilter = { deviceId: null, types: null };
const rare = 'RARE' as DeviceId;
const onlyRare: EventFilter = { deviceId: rare, types: null };
const onlyOffline: EventFilter = { deviceId: null, types: new Set(['device.signal.offline']) };

function sequences(events: readonly LoggedEvent[]): number[] {
  return events.map(({ sequence }) => sequence);
}

/** Logins of other devices, and an offline event at each sequence of `offlineAt`. */
function filledLog(count: number, offlineAt: readonly number[] = []): DraftedEventLog {
  const log = new DraftedEventLog();
  const place = { deviceId: 'COMMON' as DeviceId };
  const drafts = Array.from({ length: count }, (_, index) =>
    offlineAt.includes(index + 1) ? signalOffline({ ...place }) : sleepLogin({ ...place }),
  );
  log.append(...drafts);
  return log;
}

test('forward pages join without a gap or a repeat, whatever their size', async () => {
  const log = filledLog(700);
  for (const limit of [1, 255, 256, 257, 1000]) {
    const seen: number[] = [];
    let page = await readForward(log, everything, 0, limit);
    while (page.events.length > 0) {
      assert.ok(page.events.length <= limit);
      seen.push(...sequences(page.events));
      page = await readForward(log, everything, page.next, limit);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 700 }, (_, index) => index + 1),
      `limit ${limit}`,
    );
  }
});

test('unwanted events are skipped, and next points after them', async () => {
  const log = filledLog(600, [100, 300]);
  const page = await readForward(log, onlyOffline, 0, 10);
  assert.deepEqual([sequences(page.events), page.next], [[100, 300], 600]);
});

test('a full page stops at its last event, so that none is skipped', async () => {
  const log = filledLog(600, [100, 300, 301]);
  const first = await readForward(log, onlyOffline, 0, 2);
  assert.deepEqual(sequences(first.events), [100, 300]);
  assert.ok(first.next < 301);
  assert.deepEqual(sequences((await readForward(log, onlyOffline, first.next, 2)).events), [301]);
});

test('a search without matches yields to the event loop, and stops after a limited number of events', async () => {
  const log = filledLog(eventsScannedMax + 1000);
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const page = await readForward(log, onlyOffline, 0, 10);
  isOver = true;
  assert.deepEqual(page.events, []);
  assert.ok(page.next >= eventsScannedMax && page.next < log.head, String(page.next));
  assert.ok(turns >= log.reads - 1, `${turns} turns for ${log.reads} slices`);
});

test('the newest events are found backwards, and returned in the order of the log', async () => {
  const log = filledLog(1000);
  const newest = await readNewest(log, everything, 300, null);
  assert.deepEqual(
    sequences(newest.events),
    Array.from({ length: 300 }, (_, index) => 701 + index),
  );
  assert.deepEqual([newest.next, newest.before], [1000, null]);
});

test('zero newest events only return the place to begin', async () => {
  const { events, next, before } = await readNewest(filledLog(10), everything, 0, null);
  assert.deepEqual([events, next, before], [[], 10, null]);
});

test('a backward search continues where it stopped, until there is nothing older', async () => {
  const log = filledLog(eventsScannedMax + 2000, [5, 10]);
  const first = await readNewest(log, onlyOffline, 3, null);
  assert.deepEqual(first.events, []);
  assert.ok(first.before !== null);
  const second = await readNewest(log, onlyOffline, 3, first.before);
  assert.deepEqual([sequences(second.events), second.before], [[5, 10], null]);
});

test('events deleted during a backward search cause no repeat and hide nothing', async () => {
  const log = filledLog(2000);
  const looking = readNewest(log, everything, 2000, null);
  log.forget(1500);
  const { events, before } = await looking;
  assert.deepEqual(
    [sequences(events), before],
    [Array.from({ length: 500 }, (_, index) => 1501 + index), null],
  );
});

test("a device's latest events need no scan of the log", async () => {
  const log = filledLog(500);
  log.append(sleepLogin({ deviceId: rare }), signalOffline({ deviceId: rare }));
  const newest = await readNewest(log, onlyRare, 20, null);
  assert.deepEqual([sequences(newest.events), newest.before], [[501, 502], null]);
  assert.equal(log.reads, 0);
});

test('more events of a device than its index holds are found by a scan', async () => {
  const log = new DraftedEventLog();
  for (let i = 0; i < 20; i++) log.append(sleepLogin({ deviceId: rare, epoch: i + 1 }));
  assert.equal((await readNewest(log, onlyRare, 18, null)).events.length, 18);
  assert.ok(log.reads > 0);
});

test('a moment is found by the order of ids, its own events included', () => {
  const log = new DraftedEventLog();
  for (let i = 0; i < 100; i++) log.append(sleepLogin({ atMs: 1000 + 10 * Math.floor(i / 2) }));
  assert.equal(findPlace(log, 0), 0);
  assert.equal(findPlace(log, 1000), 0);
  assert.equal(findPlace(log, 1001), 2);
  assert.equal(findPlace(log, 1010), 2);
  assert.equal(findPlace(log, 99_999), 100);
  log.forget(50);
  assert.equal(findPlace(log, 0), 50, 'the oldest kept');
});

test('the place of an event is after it', () => {
  const log = filledLog(9);
  const [fourth] = log.read(3, 1);
  assert.equal(findPlace(log, String(fourth?.id)), 4);
});
