/** What every implementation of the port WakeupRecords keeps to; the stand-in of the tests is one of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApplicationId, DeviceId, RequestId } from '../../src/model/ids.ts';
import type { WakeupRecord } from '../../src/model/wakeup.ts';
import { inOrder, type MakeKeptRecords } from '../support/kept-records.ts';
import { draftOf } from '../support/test-journal.ts';

const nowMs = Date.now();
const app = '2818153' as ApplicationId;
const requestId = 'a request, with {printable} characters' as RequestId;
const accepted: WakeupRecord = {
  deviceId: 'a\0b' as DeviceId,
  status: 'accepted',
  isAwaited: true,
  begunAtMs: nowMs,
  acceptedAtMs: nowMs + 3,
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
  completedAtMs: nowMs + 903,
  wokeAfterMs: 900,
  cause: 'remote',
  isCallersId: true,
};
const unknown: WakeupRecord = { ...accepted, status: 'unknown', acceptedAtMs: null, alreadyOnline: true };

export function wakeupRecordsConformance(name: string, make: MakeKeptRecords): void {
  test(`${name}: a wakeup is known by application and request id together`, async (t) => {
    const { wakeups } = await make(t);
    assert.equal(wakeups.find(app, requestId), null);
    wakeups.save(app, requestId, accepted, draftOf('a\0b'));
    assert.deepEqual(wakeups.find(app, requestId), accepted);
    assert.equal(wakeups.find('28181' as ApplicationId, `53${requestId}` as RequestId), null);
    assert.equal(wakeups.find(app, `${requestId} ` as RequestId), null);
  });

  for (const record of [accepted, completed, unknown])
    test(`${name}: a record comes back as it was saved, before its commit and after: ${record.status}`, async (t) => {
      const { wakeups } = await make(t);
      wakeups.save(app, requestId, record, null);
      assert.deepEqual(wakeups.find(app, requestId), record);
      await wakeups.committed(app, requestId);
      assert.deepEqual(wakeups.find(app, requestId), record);
      assert.equal(wakeups.committed(app, requestId), null);
    });

  test(`${name}: those that are awaited are found, oldest first, with the newest that is known of them`, async (t) => {
    const { wakeups } = await make(t);
    const save = (id: string, begunMs: number, isAwaited = true): void =>
      wakeups.save(app, id as RequestId, { ...accepted, begunAtMs: nowMs + begunMs, isAwaited }, null);
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
    assert.deepEqual(found[0]?.record, { ...accepted, begunAtMs: nowMs + 10 });
  });

  test(`${name}: the events of all wakeups are told, in the order in which they were saved, and of nothing else`, async (t) => {
    const kept = await make(t);
    const drafts = Array.from({ length: 9 }, (_, number) => draftOf(`device-${number % 2}`, number, nowMs));
    for (const [number, draft] of drafts.entries()) {
      const event = number % 3 === 0 ? null : draft;
      kept.wakeups.save(app, `ring-${number}` as RequestId, { ...accepted, deviceId: draft.deviceId }, event);
    }
    const told = (await kept.told()).map(({ deviceId, data }) => ({ deviceId, data }));
    const expected = drafts
      .filter((_, number) => number % 3 > 0)
      .map(({ deviceId, data }) => ({ deviceId, data }));
    assert.deepEqual(inOrder(kept, told), inOrder(kept, expected));
  });

  test(`${name}: what was saved is found by who is asked elsewhere, the newest of it`, async (t) => {
    const kept = await make(t);
    for (const record of [accepted, completed]) {
      kept.wakeups.save(app, requestId, record, null);
      await kept.told();
      assert.deepEqual(await kept.recallWakeup(app, requestId), record);
    }
    assert.equal(await kept.recallWakeup(app, 'another' as RequestId), null);
  });

  test(`${name}: there is room to begin with`, async (t) => {
    assert.equal((await make(t)).wakeups.isFull(), false);
  });
}
