import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import type { DeviceId } from '../../../../src/model/ids.ts';
import { CallRecordStore } from '../../../../src/storage/records/call-record-store.ts';
import { encodeCalls, type CallRow } from '../../../../src/storage/records/call-rows.ts';
import { openStore, type Store } from '../../../../src/storage/lmdb/open-store.ts';
import { collectMsMax, commitRetryMs } from '../../../../src/storage/lmdb/store-limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { ScriptedCommits } from '../../../support/scripted-commits.ts';
import { audioCall, callOf, endOf, videoCall } from '../../../support/stored-calls.ts';
import { closedAfter, temporaryStore } from '../../../support/temporary-store.ts';
import { openJournal, type TestJournal, type TestJournalSettings } from '../../../support/test-journal.ts';

const device = videoCall.deviceId;
const strange = `\ufeff${'é'.repeat(126)}` as DeviceId;

interface Opened extends TestJournal {
  readonly calls: CallRecordStore;
}

function open(store: Store, settings: TestJournalSettings = {}): Opened {
  const parts = openJournal(store, settings);
  return { ...parts, calls: new CallRecordStore(store.state, parts.journal) };
}

async function reopened(t: TestContext, store: Store): Promise<Store> {
  await store.close();
  return closedAfter(t, openStore(store.directory));
}

/** What the store has, committed. */
function stored(store: Store): { readonly keys: readonly string[]; readonly ended: readonly unknown[] } {
  const keys = Array.from(store.state.calls.getKeys(), (key) => key.toString());
  return {
    keys,
    ended: openJournal(store)
      .events.read(0, 100)
      .map(({ deviceId }) => deviceId),
  };
}

test('sessions and the events that told of them are there when the store is opened again', async (t) => {
  const store = temporaryStore(t);
  const { calls, journal } = open(store);
  calls.write(device, [videoCall, audioCall], endOf(videoCall));
  calls.write(strange, [callOf(strange, audioCall)], null);
  calls.write('gone' as DeviceId, [callOf('gone' as DeviceId)], null);
  calls.write('gone' as DeviceId, [], endOf(callOf('gone' as DeviceId)));
  await journal.allCommitted();
  const again = await reopened(t, store);
  assert.deepEqual(Array.from(open(again).calls.all()), [
    { deviceId: device, sessions: [videoCall, audioCall] },
    { deviceId: strange, sessions: [callOf(strange, audioCall)] },
  ]);
  assert.deepEqual(open(again).calls.read(strange), [callOf(strange, audioCall)]);
  assert.deepEqual(stored(again).ended, [device, 'gone']);
});

test('a change that is told hurries; one that is not waits for another, or for who asks for it', async (t) => {
  const clock = new DrivenClock();
  const commits = new ScriptedCommits();
  const { calls } = open(temporaryStore(t), { clock, batch: commits.batch });
  calls.write(device, [videoCall], null);
  await setImmediate();
  assert.equal(commits.waiting, 0);
  const committed = calls.committed(device);
  await commits.succeed();
  await committed;
  calls.write(device, [audioCall], null);
  await setImmediate();
  assert.equal(commits.waiting, 0);
  clock.advance(collectMsMax);
  await commits.succeed();
  assert.equal(calls.committed(device), null);
  calls.write(device, [], endOf(audioCall));
  await commits.succeed();
  assert.equal(calls.committed(device), null);
});

test('a commit that the store refuses leaves neither the sessions nor the event, and both when it is taken', async (t) => {
  const store = temporaryStore(t);
  const clock = new DrivenClock();
  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  const { calls } = open(store, { clock, batch: commits.batch });
  calls.write(device, [audioCall], endOf(videoCall));
  await commits.fail();
  assert.deepEqual(stored(store), { keys: [], ended: [] });
  assert.deepEqual(calls.read(device), [audioCall], 'what happened is known all the same');
  assert.notEqual(calls.committed(device), null);
  clock.advance(commitRetryMs);
  await commits.succeed();
  assert.deepEqual(stored(store), { keys: [device], ended: [device] });
});

test('a device whose sessions change several times in one batch is put once, and every event is told', async (t) => {
  const store = temporaryStore(t);
  const { calls, journal } = open(store);
  const put = t.mock.method(store.state.calls, 'put');
  calls.write(device, [], endOf(videoCall));
  calls.write(device, [audioCall], endOf(videoCall));
  calls.write(device, [audioCall, videoCall], null);
  await journal.allCommitted();
  assert.equal(put.mock.callCount(), 1);
  assert.deepEqual(calls.read(device), [audioCall, videoCall]);
  assert.deepEqual(stored(store), { keys: [device], ended: [device, device] });
});

test('a store that falls behind says so', (t) => {
  const { calls } = open(temporaryStore(t), { backlogMax: 2, batch: new ScriptedCommits().batch });
  for (let number = 0; number < 3; number++) {
    assert.equal(calls.isOverloaded(), false);
    calls.write(device, [videoCall], null);
  }
  assert.equal(calls.isOverloaded(), true);
});

test('a store that cannot be read throws to who asks, and loses nothing of what has happened', async (t) => {
  const store = temporaryStore(t);
  const { calls } = open(store, { batch: new ScriptedCommits().batch });
  await store.close();
  assert.throws(() => calls.read(device));
  assert.throws(() => Array.from(calls.all()));
  calls.write(device, [videoCall], endOf(audioCall));
  assert.deepEqual(calls.read(device), [videoCall]);
});

test('a row to which a later release has added is read', async (t) => {
  const store = temporaryStore(t);
  const row = encodeCalls([videoCall]).map((session) => [...session, 'later']);
  await store.state.environment.transaction(() => {
    void store.state.calls.put(Buffer.from(device), row as unknown as CallRow);
  });
  assert.deepEqual(open(store).calls.read(device), [videoCall]);
});

test('no text of a caller is kept as a string, which some decoders rob of a U+FEFF at its beginning', () => {
  const waiting: unknown[] = [encodeCalls([audioCall])];
  let bytes = 0;
  while (waiting.length > 0) {
    const part = waiting.pop();
    if (Array.isArray(part)) waiting.push(...(part as unknown[]));
    if (part instanceof Uint8Array) bytes += part.length;
    if (typeof part === 'string') assert.ok(!part.startsWith('\ufeff'), part);
  }
  assert.ok(bytes > 1000, 'the texts are there');
});
