/** What every implementation of the port WakeupRecords keeps to; the stand-in of the tests is one of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId, DeviceId, RequestId } from '../../src/domain/ids.ts';
import type { WakeupRecord } from '../../src/domain/wakeup.ts';
import type { WakeupRecords } from '../../src/ports/wakeup-records.ts';
import { WakeupRecordStore } from '../../src/store/wakeup-record-store.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeWakeupRecords } from '../support/fakes.ts';
import { temporaryStore, type Ending } from '../support/temporary-store.ts';
import { draftOf, openJournal } from '../support/test-journal.ts';

const clock = new DrivenClock();

function store(t: Ending): WakeupRecords {
  const { state } = temporaryStore(t);
  const batch = (write: () => void): Promise<void> => state.environment.batch(write);
  const { journal } = openJournal({ state });
  return new WakeupRecordStore(state, journal, { clock, knownMax: 10, batch });
}

const implementations: Record<string, (t: Ending) => WakeupRecords> = {
  store,
  'stand-in': () => new FakeWakeupRecords(),
};

const app = '2818153' as ApplicationId;
const requestId = 'a request, with {printable} characters' as RequestId;
const accepted: WakeupRecord = {
  deviceId: 'a\0b' as DeviceId,
  status: 'accepted',
  isAwaited: true,
  begunAtMs: clock.wallMs(),
  acceptedAtMs: clock.wallMs() + 3,
  completedAtMs: null,
  wokeAfterMs: null,
  alreadyOnline: false,
  cause: null,
  sleepEpoch: 7,
  isCallersId: false,
  bodySha256: '0f'.repeat(32),
  watcher: null,
};
const completed: WakeupRecord = {
  ...accepted,
  status: 'completed',
  isAwaited: false,
  completedAtMs: clock.wallMs() + 903,
  wokeAfterMs: 900,
  cause: 'remote',
  isCallersId: true,
};
const unknown: WakeupRecord = { ...accepted, status: 'unknown', acceptedAtMs: null, alreadyOnline: true };

for (const [name, make] of Object.entries(implementations)) {
  test(`${name}: a wakeup is known by application and request id together`, (t) => {
    const wakeups = make(t);
    assert.equal(wakeups.find(app, requestId), null);
    wakeups.save(app, requestId, accepted, draftOf('a\0b'));
    assert.deepEqual(wakeups.find(app, requestId), accepted);
    assert.equal(wakeups.find('28181' as ApplicationId, `53${requestId}` as RequestId), null);
    assert.equal(wakeups.find(app, `${requestId} ` as RequestId), null);
  });

  for (const record of [accepted, completed, unknown])
    test(`${name}: a record comes back as it was saved, before its commit and after: ${record.status}`, async (t) => {
      const wakeups = make(t);
      wakeups.save(app, requestId, record, null);
      assert.deepEqual(wakeups.find(app, requestId), record);
      await wakeups.committed(app, requestId);
      assert.deepEqual(wakeups.find(app, requestId), record);
      assert.equal(wakeups.committed(app, requestId), null);
    });

  test(`${name}: those that are awaited are found, oldest first, with the newest that is known of them`, async (t) => {
    const wakeups = make(t);
    const save = (id: string, begunMs: number, isAwaited = true): void =>
      wakeups.save(app, id as RequestId, { ...accepted, begunAtMs: begunMs, isAwaited }, null);
    save('third', 30);
    save('first', 10);
    save('settled', 15);
    save('never', 16, false);
    await wakeups.committed(app, 'never' as RequestId);
    save('second', 20);
    save('settled', 15, false);
    const found = [...wakeups.awaited()];
    assert.deepEqual(
      found.map(({ requestId }) => requestId),
      ['first', 'second', 'third'],
    );
    assert.equal(found[0]?.appId, app);
    assert.deepEqual(found[0]?.record, { ...accepted, begunAtMs: 10 });
  });

  test(`${name}: there is room to begin with`, (t) => {
    assert.equal(make(t).isFull(), false);
  });
}
