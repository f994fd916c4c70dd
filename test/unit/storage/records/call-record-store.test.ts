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

/** The committed state of the store. */
function stored(store: Store): { readonly keys: readonly string[]; readonly ended: readonly unknown[] } {
  const keys = Array.from(store.state.calls.getKeys(), (key) => key.toString());
  return {
    keys,
    ended: openJournal(store)
      .events.read(0, 100)
      .map(({ deviceId }) => deviceId),
  };
}

test('sessions and their events are there after the store is reopened', async (t) => {
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

test('a change with an event is committed at once; one without waits for another, or for a caller that awaits it', async (t) => {
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

test('a refused commit leaves neither sessions nor event, and its retry writes both', async (t) => {
  const store = temporaryStore(t);
  const clock = new DrivenClock();
  const commits = new ScriptedCommits((write) => store.state.environment.transaction(write));
  const { calls } = open(store, { clock, batch: commits.batch });
  calls.write(device, [audioCall], endOf(videoCall));
  await commits.fail();
  assert.deepEqual(stored(store), { keys: [], ended: [] });
  assert.deepEqual(calls.read(device), [audioCall], 'uncommitted sessions are readable');
  assert.notEqual(calls.committed(device), null);
  clock.advance(commitRetryMs);
  await commits.succeed();
  assert.deepEqual(stored(store), { keys: [device], ended: [device] });
});

test('a device with several changes in one batch is put once, and every event is published', async (t) => {
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

test('an overloaded store reports it', (t) => {
  const { calls } = open(temporaryStore(t), { backlogMax: 2, batch: new ScriptedCommits().batch });
  for (let number = 0; number < 3; number++) {
    assert.equal(calls.isOverloaded(), false);
    calls.write(device, [videoCall], null);
  }
  assert.equal(calls.isOverloaded(), true);
});

test('reads of an unreadable store throw, and no saved session is lost', async (t) => {
  const store = temporaryStore(t);
  const { calls } = open(store, { batch: new ScriptedCommits().batch });
  await store.close();
  assert.throws(() => calls.read(device));
  assert.throws(() => Array.from(calls.all()));
  calls.write(device, [videoCall], endOf(audioCall));
  assert.deepEqual(calls.read(device), [videoCall]);
});

test('a row with additional fields of a later release is decoded', async (t) => {
  const store = temporaryStore(t);
  const row = encodeCalls([videoCall]).map((session) => [...session, 'later']);
  await store.state.environment.transaction(() => {
    void store.state.calls.put(Buffer.from(device), row as unknown as CallRow);
  });
  assert.deepEqual(open(store).calls.read(device), [videoCall]);
});

test('free text is stored as bytes, because some decoders drop a leading U+FEFF of a string', () => {
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
