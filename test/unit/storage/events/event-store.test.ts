import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventDraft, LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId, SessionId } from '../../../../src/model/ids.ts';
import { eventIdMs } from '../../../../src/storage/events/event-rows.ts';
import { openStore } from '../../../../src/storage/lmdb/open-store.ts';
import { recentEventsMax } from '../../../../src/storage/lmdb/store-limits.ts';
import { FakeLog } from '../../../support/fakes.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { closedAfter, temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf, openJournal } from '../../../support/test-journal.ts';

const sequences = (events: readonly LoggedEvent[]): number[] => events.map(({ sequence }) => sequence);

function online(deviceId: string, mediaCharacters: number): EventDraft {
  return {
    type: 'device.signal.online',
    data: {
      session: 'session' as SessionId,
      node: 'node-1',
      replaced: false,
      media: { x: 'm'.repeat(mediaCharacters) },
    },
    deviceId: deviceId as DeviceId,
    atMs: 1,
    epoch: 1,
  };
}

test('an event is invisible until it is committed', async (t) => {
  const store = temporaryStore(t);
  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  const { events, journal } = openJournal(store, { batch: commits.batch });
  const received: number[] = [];
  events.follow((batch) => received.push(...sequences(batch)));
  events.append(draftOf('device'));
  await commits.fail();
  assert.deepEqual([events.head, events.oldest, received], [0, 1, []]);
  assert.deepEqual(events.read(0, 10), []);
  assert.deepEqual(events.recentOf('device' as DeviceId), []);
  assert.equal(journal.backlog, 1);
});

test('an event in the store is not readable before it is published', async (t) => {
  const store = temporaryStore(t);
  const commits = new ScriptedCommits();
  const { events, stored } = openJournal(store, {
    batch: async (write) => {
      await store.state.environment.transaction(write);
      await commits.batch(() => undefined);
    },
  });
  events.append(draftOf('device'));
  await commits.asked();
  assert.deepEqual(sequences(stored.read(0, 10)), [1]);
  assert.deepEqual(events.read(0, 10), []);
  assert.deepEqual(events.recentOf('device' as DeviceId), []);
  await commits.succeed();
  assert.deepEqual(sequences(events.read(0, 10)), [1]);
  assert.deepEqual(sequences(events.recentOf('device' as DeviceId)), [1]);
});

test('a follower that throws is logged, and affects neither other followers nor the journal', async (t) => {
  const store = temporaryStore(t);
  const log = new FakeLog();
  const { events, journal } = openJournal(store, { log });
  const received: number[] = [];
  events.follow(() => {
    throw new Error('a mistake');
  });
  events.follow((batch) => received.push(...sequences(batch)));
  for (let i = 0; i < 3; i++) {
    events.append(draftOf('device'));
    await journal.allCommitted();
  }
  assert.deepEqual(received, [1, 2, 3]);
  assert.deepEqual(
    log.lines.map(({ level }) => level),
    ['error', 'error', 'error'],
  );
});

test('a follower may stop or start another one while it is notified', async (t) => {
  const { events, journal } = openJournal(temporaryStore(t));
  const received: string[] = [];
  let stopSecond = (): void => undefined;
  const stopFirst = events.follow(() => {
    received.push('first');
    stopSecond();
    events.follow((batch) => received.push(`third from ${batch[0]?.sequence}`));
    stopFirst();
  });
  stopSecond = events.follow(() => received.push('second'));
  events.append(draftOf('device'));
  await journal.allCommitted();
  events.append(draftOf('device'));
  await journal.allCommitted();
  assert.deepEqual(received, ['first', 'third from 2']);
});

test('old events from the store and new ones from memory are equal', async (t) => {
  const store = temporaryStore(t);
  const { events, journal, stored } = openJournal(store);
  const count = recentEventsMax + 100;
  for (let i = 0; i < count; i++) events.append(draftOf(`device-${i % 7}`, i));
  await journal.allCommitted();
  for (const after of [0, 98, 99, 100, 101, count - 1]) {
    assert.deepEqual(events.read(after, 3), stored.read(after, 3), `after ${after}`);
    assert.equal(events.read(after, 3)[0]?.sequence, after + 1);
  }
  assert.deepEqual(
    sequences(events.read(0, 150)),
    Array.from({ length: 150 }, (_, i) => i + 1),
  );
  assert.deepEqual(events.recentOf('device-3' as DeviceId), stored.recentOf('device-3' as DeviceId));
});

test('capabilities count by their length in memory, and are read from the store afterwards', async (t) => {
  const store = temporaryStore(t);
  const { events, journal } = openJournal(store);
  const count = Math.floor(recentEventsMax / 8);
  for (let i = 0; i < count; i++) events.append(online('device', 2000));
  await journal.allCommitted();
  events.append(draftOf('device'));
  await journal.allCommitted();
  // Without the store, only events in memory can be read.
  await store.close();
  assert.equal(events.read(count - 100, 1000).length, 101);
  assert.throws(() => events.read(0, 1));
});

test('sequences continue after a restart, also if all events were removed', async (t) => {
  const store = temporaryStore(t);
  const { events, journal } = openJournal(store);
  for (let i = 0; i < 5; i++) events.append(draftOf('device', i, 5000 + i));
  await journal.allCommitted();
  await store.close();
  const again = closedAfter(t, openStore(store.directory));
  const next = openJournal(again);
  assert.deepEqual([next.events.head, next.events.oldest], [5, 1]);
  next.events.append(draftOf('device', 5, 1000));
  await next.journal.allCommitted();
  const [before, after] = next.events.read(4, 2);
  assert.deepEqual([after?.sequence, after?.seq], [6, 6]);
  assert.ok(before !== undefined && after !== undefined && before.id < after.id);
});

test('ids ascend with the log when the wall clock steps back, and events keep its time', async (t) => {
  const { events, journal } = openJournal(temporaryStore(t));
  const times = [5000, 5000, 1000, 900, 5000, 5001, 1];
  for (const atMs of times) events.append(draftOf('device', 1, atMs));
  await journal.allCommitted();
  const logged = events.read(0, 10);
  assert.deepEqual(
    logged.map(({ atMs }) => atMs),
    times,
  );
  const ids = logged.map(({ id }) => id);
  assert.deepEqual(ids.toSorted(), ids);
  assert.deepEqual(ids.map(eventIdMs), [5000, 5000, 5000, 5000, 5000, 5001, 5001]);
});

test('any device name and any sequence can be stored', async (t) => {
  const store = temporaryStore(t);
  const strange = ['a\0b', 'a', '😀'.repeat(60), '\u{7f}'];
  const { events, journal } = openJournal(store);
  for (const deviceId of strange) events.append(draftOf(deviceId));
  await journal.allCommitted();
  for (const [i, deviceId] of strange.entries())
    assert.deepEqual(sequences(events.recentOf(deviceId as DeviceId)), [i + 1]);
});
