/** Conformance of the port EventLog; the fake of the tests has to pass, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventDraft, LoggedEvent } from '../../src/model/events.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import { recentEventsOfDeviceMax } from '../../src/model/limits.ts';
import type { MakeKeptLog } from '../support/kept-log.ts';
import { draftOf } from '../support/test-journal.ts';

const nowMs = Date.now();

const sequences = (events: readonly LoggedEvent[]): number[] => events.map(({ sequence }) => sequence);
const drafts = (count: number): EventDraft[] =>
  Array.from({ length: count }, (_, i) => draftOf(`device-${i % 3}`, i, nowMs));

export function eventLogConformance(name: string, make: MakeKeptLog): void {
  test(`${name}: a new log is empty`, async (t) => {
    const { log } = await make(t);
    assert.deepEqual([log.head, log.oldest], [0, 1]);
    assert.deepEqual(log.read(0, 10), []);
    assert.deepEqual(log.recentOf('device-0' as DeviceId), []);
  });

  test(`${name}: events are numbered from 1, in the log and per device`, async (t) => {
    const { log, commit, idsAscend } = await make(t);
    await commit(...drafts(2));
    await commit(...drafts(2));
    assert.deepEqual([log.head, log.oldest], [4, 1]);
    const events = log.read(0, 10);
    assert.deepEqual(
      events.map(({ sequence, deviceId, seq }) => [sequence, deviceId, seq]),
      [
        [1, 'device-0', 1],
        [2, 'device-1', 1],
        [3, 'device-0', 2],
        [4, 'device-1', 2],
      ],
    );
    const ids = events.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    if (idsAscend) assert.deepEqual(ids.toSorted(), ids);
  });

  test(`${name}: a page begins after its cursor and ends at its limit or at the head`, async (t) => {
    const { log, commit } = await make(t);
    await commit(...drafts(10));
    assert.deepEqual(sequences(log.read(3, 2)), [4, 5]);
    assert.deepEqual(sequences(log.read(8, 5)), [9, 10]);
    assert.deepEqual(log.read(10, 5), []);
    assert.deepEqual(log.read(99, 5), []);
  });

  test(`${name}: an event is read unchanged`, async (t) => {
    const { log, commit } = await make(t);
    const media = { text: 'é', nested: [{ x: 1.5 }], gone: null };
    const data = { session: 'one' as SessionId, node: 'n', replaced: false, media };
    const draft: EventDraft = { ...draftOf('a\0b\n😀', 1, nowMs), type: 'device.signal.online', data };
    await commit(draft);
    const [event] = log.read(0, 1);
    const { id: _id, sequence: _sequence, seq: _seq, productId, ...rest } = event ?? assert.fail();
    assert.deepEqual(rest, draft);
    assert.equal(productId, 'doorbell');
  });

  test(`${name}: a device's latest events are listed newest first, up to their maximum`, async (t) => {
    const { log, commit } = await make(t);
    await commit(...drafts(6));
    assert.deepEqual(sequences(log.recentOf('device-1' as DeviceId)), [5, 2]);
    await commit(...drafts(300));
    const latest = log.recentOf('device-0' as DeviceId);
    assert.equal(latest.length, recentEventsOfDeviceMax);
    assert.equal(latest[0]?.sequence, 304);
    assert.ok(latest.every(({ deviceId }) => deviceId === 'device-0'));
  });

  test(`${name}: removed events cannot be read, and numbers continue`, async (t) => {
    const { log, commit, keep } = await make(t);
    await commit(...drafts(10));
    await keep(4);
    assert.deepEqual([log.head, log.oldest], [10, 7]);
    assert.deepEqual(sequences(log.read(0, 2)), [7, 8]);
    assert.deepEqual(sequences(log.recentOf('device-0' as DeviceId)), [10, 7]);
    await keep(0);
    assert.deepEqual([log.head, log.oldest], [10, 11]);
    assert.deepEqual(log.read(0, 10), []);
    await commit(draftOf('device-0', 1, nowMs));
    assert.deepEqual([log.head, log.oldest], [11, 11]);
    assert.equal(log.read(0, 10)[0]?.seq, 5);
  });

  test(`${name}: a follower receives every readable event once and in order, until it stops`, async (t) => {
    const { log, commit } = await make(t);
    const published: number[] = [];
    const unread: number[] = [];
    await commit(...drafts(1));
    const stop = log.follow((events) => {
      published.push(...sequences(events));
      const newest = published.at(-1) ?? 0;
      if (log.head !== newest || log.read(newest - 1, 1)[0]?.sequence !== newest) unread.push(newest);
    });
    const stopOther = log.follow(() => undefined);
    await commit(...drafts(2));
    await commit(...drafts(1));
    stop();
    await commit(...drafts(1));
    stopOther();
    assert.deepEqual(published, [2, 3, 4]);
    assert.deepEqual(unread, [], 'published events can be read, and are the newest');
  });
}
