import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import {
  EventRetention,
  type EventRetentionSettings,
} from '../../../../src/storage/events/event-retention.ts';
import { forgetEventsMs, forgetEventsSlice } from '../../../../src/storage/lmdb/store-limits.ts';
import { openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { closedAfter, temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf, openJournal } from '../../../support/test-journal.ts';

const sequences = (events: readonly LoggedEvent[]): number[] => events.map(({ sequence }) => sequence);
const weekMs = 7 * 24 * 3600 * 1000;

function scene(t: TestContext, bounds: Partial<EventRetentionSettings>, scripted = false) {
  const clock = new DrivenClock();
  const store = temporaryStore(t);
  const commit = (write: () => void): Promise<void> => store.state.environment.transaction(write);
  const commits = new ScriptedCommits(commit);
  const { events, journal, stored } = openJournal(store, { clock });
  const retention = new EventRetention(store.state, {
    maxAgeMs: weekMs,
    maxCount: 1_000_000,
    ...bounds,
    clock,
    log: events,
    batch: scripted ? commits.batch : commit,
  });
  /** Appends events of one device at this moment of the wall clock. */
  const happen = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) events.append(draftOf('device', i, clock.wallMs()));
    await journal.allCommitted();
  };
  /** Advances the clock by minutes while the wall clock stands still. */
  const forgetFor = async (minutes: number): Promise<void> => {
    for (let i = 0; i < minutes; i++) {
      clock.advance(60_000);
      clock.stepWall(-60_000);
      await retention.forget();
    }
  };
  return { clock, store, commits, events, stored, retention, happen, forgetFor };
}

test('events beyond the maximum number are removed in slices, oldest first', async (t) => {
  const { events, stored, retention, happen } = scene(t, { maxCount: 10 });
  await happen(2 * forgetEventsSlice + 17);
  await retention.forget();
  assert.equal(events.oldest, events.head - 9);
  assert.deepEqual(sequences(stored.read(0, 100)), sequences(events.read(0, 100)));
  assert.equal(events.read(0, 100).length, 10);
  await happen(3);
  await retention.forget();
  assert.equal(events.read(0, 100).length, 10);
});

test('an event is removed at its maximum age, and never before an older one', async (t) => {
  const { clock, events, happen, forgetFor } = scene(t, {});
  await happen(2);
  clock.advance(1000);
  await happen(3);
  clock.advance(weekMs - 1001);
  await forgetFor(10);
  assert.equal(events.oldest, 1);
  clock.advance(1);
  await forgetFor(10);
  assert.equal(events.oldest, 3);
  clock.advance(1000);
  await forgetFor(3);
  assert.deepEqual([events.oldest, events.head], [6, 5], 'nothing is left');
  await forgetFor(1);
  assert.deepEqual([events.oldest, events.head], [6, 5]);
});

test('an event from before the wall clock stepped back is kept for its age, and later ones with it', async (t) => {
  const { clock, events, happen, forgetFor } = scene(t, {});
  await happen(1);
  clock.stepWall(-3600_000);
  await happen(1);
  clock.stepWall(weekMs);
  await forgetFor(10);
  assert.equal(events.oldest, 1);
  clock.stepWall(3600_000);
  await forgetFor(2);
  assert.equal(events.oldest, 3);
});

test('a wall clock 40 days ahead removes a hundredth of the log per minute, also after a restart', async (t) => {
  const { clock, store, events, retention, happen, forgetFor } = scene(t, {});
  await happen(1000);
  clock.stepWall(40 * 24 * 3600_000);
  await retention.forget();
  assert.equal(events.oldest, 2);
  await forgetFor(3);
  assert.equal(events.oldest, 32);
  const batch = (write: () => void): Promise<void> => store.state.environment.transaction(write);
  const bounds = { maxAgeMs: weekMs, maxCount: 1_000_000 };
  await new EventRetention(store.state, { ...bounds, clock, log: events, batch }).forget();
  assert.equal(events.oldest, 33);
  clock.stepWall(-40 * 24 * 3600_000);
  await forgetFor(5);
  assert.equal(events.oldest, 33, 'the clock is right again');
});

test('a completely outdated log is empty within 100 minutes', async (t) => {
  const { clock, events, happen, forgetFor } = scene(t, {});
  await happen(1000);
  clock.stepWall(weekMs);
  await forgetFor(99);
  assert.ok(events.oldest < 1001);
  await forgetFor(2);
  assert.equal(events.oldest, 1001);
});

test('a log with a retention of minutes removes each event within one and a half times that', async (t) => {
  const minutes = 15;
  const { clock, events, retention, happen } = scene(t, { maxAgeMs: minutes * 60_000 });
  for (let i = 0; i < 60; i++) {
    await happen(20);
    clock.advance(60_000);
    await retention.forget();
    const oldest = events.read(events.oldest - 1, 1)[0] ?? assert.fail();
    assert.ok(clock.wallMs() - oldest.atMs <= 1.5 * minutes * 60_000);
  }
  assert.ok(events.oldest > 800);
});

test('after a restart an emptied log continues its sequences', async (t) => {
  const { clock, store, happen, forgetFor } = scene(t, {});
  await happen(700);
  clock.advance(weekMs);
  await forgetFor(101);
  await store.close();
  const again = closedAfter(t, openStore(store.directory));
  const { events, journal } = openJournal(again);
  assert.deepEqual([events.oldest, events.head], [701, 700]);
  events.append(draftOf('device', 1, 0));
  await journal.allCommitted();
  const [event] = events.read(0, 10);
  assert.deepEqual([event?.sequence, event?.seq], [701, 701]);
  assert.deepEqual(sequences(events.recentOf('device' as DeviceId)), [701]);
});

test('`oldest` moves only when the slice is committed; a refused slice is retried', async (t) => {
  const { commits, events, retention, happen } = scene(t, { maxCount: 5 }, true);
  await happen(forgetEventsSlice + 10);
  const first = retention.forget();
  await commits.fail();
  await first;
  assert.equal(events.oldest, 1);
  const second = retention.forget();
  await commits.asked();
  assert.equal(events.oldest, 1);
  await commits.succeed();
  assert.equal(events.oldest, forgetEventsSlice + 1);
  await commits.succeed();
  await second;
  assert.equal(events.oldest, events.head - 4);
});

test('a concurrent reader misses no kept event, and can detect the removed ones', async (t) => {
  const { commits, events, stored, retention, happen } = scene(t, { maxCount: 5 }, true);
  await happen(20);
  const page = events.read(3, 4);
  assert.deepEqual(sequences(page), [4, 5, 6, 7]);
  const forgetting = retention.forget();
  await commits.asked();
  assert.equal(events.oldest, 1);
  await commits.succeed();
  await forgetting;
  assert.deepEqual(sequences(events.read(7, 4)), [16, 17, 18, 19]);
  assert.equal(events.oldest, 16);
  assert.deepEqual(sequences(stored.read(7, 4)), [16, 17, 18, 19]);
});

test('a gap that the store has not reported yet shows in `oldest` after the read', async (t) => {
  const { store, happen, clock } = scene(t, {});
  await happen(20);
  // A reader without events in memory that is not notified of removals.
  const { events } = openJournal(store);
  const other = openJournal(store);
  const batch = (write: () => void): Promise<void> => store.state.environment.transaction(write);
  const bounds = { maxAgeMs: weekMs, maxCount: 5 };
  await new EventRetention(store.state, { ...bounds, clock, log: other.events, batch }).forget();
  assert.equal(events.oldest, 1);
  assert.deepEqual(sequences(events.read(3, 2)), [16, 17]);
  assert.equal(events.oldest, 16);
});

test('retention runs by the clock until it is cancelled, one round at a time', async (t) => {
  const { clock, commits, events, retention, happen } = scene(t, { maxCount: 1 }, true);
  await happen(3);
  const cancel = retention.start();
  clock.advance(forgetEventsMs);
  clock.advance(forgetEventsMs);
  await commits.asked();
  assert.equal(commits.waiting, 1);
  await commits.succeed();
  await setImmediate();
  assert.equal(events.oldest, 3);
  cancel();
  assert.equal(clock.pendingTimers, 0);
});
