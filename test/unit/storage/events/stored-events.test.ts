import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { moduleBeside, startModuleWorker } from '../../../../src/lib/module-worker.ts';
import type { LoggedEvent } from '../../../../src/model/events.ts';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { StoredEvents } from '../../../../src/storage/events/stored-events.ts';
import type { OnlookerAnswer, OnlookerTask } from '../../../support/onlooker-worker.ts';
import { temporaryStore } from '../../../support/temporary-store.ts';
import { draftOf, openJournal } from '../../../support/test-journal.ts';

const device = 'device-1' as DeviceId;
const sequences = (events: readonly LoggedEvent[]): number[] => events.map(({ sequence }) => sequence);

test('another thread of the process sees each commit after a notification', async (t) => {
  const store = temporaryStore(t);
  const { events, journal } = openJournal(store);
  const task: OnlookerTask = { directory: store.directory, deviceId: device };
  const worker = startModuleWorker(
    'onlooker-worker',
    moduleBeside('../../../support/caller', import.meta.url).href,
    task,
  );
  t.after(() => worker.terminate());
  const reported: number[] = [];
  events.follow((batch) => {
    reported.push(...sequences(batch));
    worker.postMessage(events.head);
  });
  for (let round = 1; round <= 50; round++) {
    const answered = once(worker, 'message') as Promise<[OnlookerAnswer]>;
    for (let i = 0; i < round; i++) events.append(draftOf(`device-${i % 2}`));
    await journal.allCommitted();
    const [answer] = await answered;
    assert.deepEqual(answer.sequences, reported);
    assert.deepEqual(answer.recent, sequences(events.recentOf(device)));
    assert.equal(answer.oldest, 1);
  }
  const gone = once(worker, 'exit');
  worker.postMessage(0);
  await gone;
  events.append(draftOf(device));
  await journal.allCommitted();
  assert.equal(events.head, reported.length, 'the store is still open to the main thread');
});

test('reads return the committed log', async (t) => {
  const store = temporaryStore(t);
  const stored = new StoredEvents(store.state);
  assert.deepEqual([stored.oldest, stored.head], [1, 0]);
  const { events, journal } = openJournal(store);
  for (let i = 0; i < 30; i++) events.append(draftOf(device, i));
  await journal.allCommitted();
  stored.refresh();
  assert.deepEqual([stored.oldest, stored.head], [1, 30]);
  assert.deepEqual(stored.read(10, 5), events.read(10, 5));
  assert.deepEqual(sequences(stored.read(10, 5, 12)), [11, 12]);
  assert.deepEqual(sequences(stored.read(10, 1, 12)), [11]);
  assert.deepEqual(sequences(stored.read(28, 5, 32)), [29, 30]);
  assert.deepEqual(stored.recentOf(device), events.recentOf(device));
  assert.equal(stored.find(31), null);
});

test('the newest event is found from any guess', async (t) => {
  const store = temporaryStore(t);
  const { events, journal } = openJournal(store);
  const stored = new StoredEvents(store.state);
  assert.deepEqual(stored.newest(7), { sequence: 0, idMs: 0 });
  for (let i = 0; i < 30; i++) events.append(draftOf(device, i));
  await journal.allCommitted();
  for (const guess of [0, 7, 29, 30, 31, 500]) assert.deepEqual(stored.newest(guess), stored.newest());
  assert.equal(stored.newest(30).sequence, 30);
});

test('a closed store is never reported as empty', async (t) => {
  const store = temporaryStore(t);
  const stored = new StoredEvents(store.state);
  await store.close();
  assert.throws(() => stored.head);
  assert.throws(() => stored.read(0, 1));
  assert.throws(() => stored.read(0, 1, 1));
  assert.throws(() => stored.recentOf(device));
});

test('a walk that ends before the newest event throws as damage', async (t) => {
  const store = temporaryStore(t);
  const { events, journal, stored } = openJournal(store);
  for (let number = 0; number < 50; number += 1) events.append(draftOf(device));
  await journal.allCommitted();
  assert.equal(stored.read(0, 100, 50).length, 50);
  assert.equal(stored.read(50, 100, 90).length, 0, 'an empty range reports no damage');
  const reported: unknown[] = [];
  store.state.environment.onFault((error) => reported.push(error));
  const table = store.state.events.events;
  assert.ok(table !== undefined);
  const walk = table.getRange.bind(table);
  t.mock.method(table, 'getRange', (range: object) => walk({ ...range, limit: 20 }));
  assert.throws(() => stored.read(0, 100, 50), /state\.mdb: events behind 20 exist but cannot be found/);
  assert.equal(reported.length, 1);
});
