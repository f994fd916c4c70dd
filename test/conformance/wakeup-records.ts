/** Conformance of the port WakeupRecords; the fake of the tests has to pass, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  generateWakeupId,
  type ApplicationId,
  type DeviceId,
  type RequestId,
  type WakeupId,
} from '../../src/model/ids.ts';
import { aliasRecord } from '../../src/model/state/wakeup-save.ts';
import type { WakeupRecord } from '../../src/model/wakeup.ts';
import { latestOf } from '../support/fakes.ts';
import { inOrder, type MakeKeptRecords } from '../support/kept-records.ts';
import { acceptedWakeup } from '../support/stored-wakeups.ts';
import { draftOf } from '../support/test-journal.ts';

const nowMs = Date.now();
const app = '2818153' as ApplicationId;
const requestId = 'a request, with {printable} characters' as RequestId;
const accepted = acceptedWakeup({
  deviceId: 'a\0b' as DeviceId,
  begunAtMs: nowMs,
  acceptedAtMs: nowMs + 3,
});
const completed: WakeupRecord = {
  ...accepted,
  status: 'completed',
  isAwaited: false,
  completedAtMs: nowMs + 903,
  wokeAfterMs: 900,
  cause: 'remote',
};
const unknown: WakeupRecord = { ...accepted, status: 'unknown', acceptedAtMs: null, alreadyOnline: true };

/** The `number`th wakeup of a device, answered `number` ms later. */
function wakeup(number: number, changes: Partial<WakeupRecord> = {}): WakeupRecord {
  const acceptedAtMs = nowMs + number;
  return { ...accepted, acceptedAtMs, id: generateWakeupId(acceptedAtMs, number), ...changes };
}

export function wakeupRecordsConformance(name: string, make: MakeKeptRecords): void {
  test(`${name}: a wakeup is found by application and request id together, and by its own id`, async (t) => {
    const { wakeups } = await make(t);
    assert.equal(wakeups.find(latestOf(app, requestId)), null);
    wakeups.save(app, requestId, accepted, draftOf('a\0b'));
    assert.deepEqual(wakeups.find(latestOf(app, requestId)), accepted);
    assert.deepEqual(wakeups.find({ appId: app, requestId, which: accepted.id }), accepted);
    assert.equal(wakeups.find(latestOf('28181' as ApplicationId, `53${requestId}` as RequestId)), null);
    assert.equal(wakeups.find(latestOf(app, `${requestId} ` as RequestId)), null);
    assert.equal(wakeups.find(latestOf(app, 'a request' as RequestId)), null);
  });

  for (const record of [accepted, completed, unknown])
    test(`${name}: a record is read unchanged, before and after its commit: ${record.status}`, async (t) => {
      const { wakeups } = await make(t);
      wakeups.save(app, requestId, record, null);
      assert.deepEqual(wakeups.find(latestOf(app, requestId)), record);
      await wakeups.committed({ appId: app, requestId, record });
      assert.deepEqual(wakeups.find(latestOf(app, requestId)), record);
      assert.equal(wakeups.committed({ appId: app, requestId, record }), null);
    });

  for (const isCommitted of [false, true])
    test(`${name}: the latest wakeup of a request id is found, also per device (committed: ${isCommitted})`, async (t) => {
      const kept = await make(t);
      const { wakeups } = kept;
      const [door, gate] = ['a\0b' as DeviceId, 'a\0b\n' as DeviceId];
      const first = wakeup(1);
      const ofGate = wakeup(2, { deviceId: gate });
      const second = wakeup(3);
      for (const record of [first, ofGate, second]) wakeups.save(app, requestId, record, null);
      wakeups.save(app, requestId, { ...first, isAwaited: false, status: 'expired' }, null);
      wakeups.save('other' as ApplicationId, requestId, wakeup(4), null);
      if (isCommitted) await kept.committedEvents();
      const recall = (of?: DeviceId): Promise<WakeupRecord | null> =>
        kept.recallWakeup(latestOf(app, requestId, of));
      for (const find of [
        (of?: DeviceId) => wakeups.find(latestOf(app, requestId, of)),
        ...(isCommitted ? [recall] : []),
      ]) {
        assert.deepEqual(await find(), second);
        assert.deepEqual(await find(door), second);
        assert.deepEqual(await find(gate), ofGate);
        assert.equal(await find('another' as DeviceId), null);
      }
      assert.equal(wakeups.find({ appId: app, requestId, which: first.id })?.status, 'expired');
      assert.deepEqual(
        wakeups.list(requestId, null, 10).map(({ record }) => record.acceptedAtMs),
        [4, 3, 2, 1].map((number) => nowMs + number),
      );
      assert.deepEqual(
        wakeups.list(requestId, gate, 10).map(({ record }) => record),
        [ofGate],
      );
      assert.equal(wakeups.list(requestId, null, 2).length, 2);
    });

  for (const isCommitted of [false, true])
    test(`${name}: the request id of a repeat lists the repeated wakeup (committed: ${isCommitted})`, async (t) => {
      const kept = await make(t);
      const { wakeups } = kept;
      const other = 'the repeat' as RequestId;
      const first = wakeup(1);
      const alias = aliasRecord(first.id, requestId, first.deviceId, first.acceptedAtMs, nowMs);
      const settled: WakeupRecord = { ...completed, id: first.id };
      wakeups.save(app, requestId, first, null);
      wakeups.save(app, other, alias, null);
      wakeups.save(app, requestId, settled, null);
      if (isCommitted) await kept.committedEvents();
      assert.deepEqual(wakeups.find(latestOf(app, other)), alias);
      if (isCommitted) assert.deepEqual(await kept.recallWakeup(latestOf(app, other)), alias);
      assert.deepEqual(wakeups.find(latestOf(app, requestId)), settled);
      assert.deepEqual(
        wakeups.list(other, null, 10).map(({ record }) => record),
        [{ ...settled, repeatOf: requestId }],
      );
      const later = wakeup(9);
      wakeups.save(app, other, later, null);
      assert.deepEqual(wakeups.find(latestOf(app, other)), later, 'a later wakeup has the id');
    });

  test(`${name}: awaited wakeups are listed oldest first, with their newest state`, async (t) => {
    const { wakeups } = await make(t);
    const save = (id: string, begunMs: number, isAwaited = true): WakeupRecord => {
      const record = {
        ...wakeup(begunMs),
        id: `wakeup-${begunMs}` as WakeupId,
        begunAtMs: nowMs + begunMs,
        isAwaited,
      };
      wakeups.save(app, id as RequestId, record, null);
      return record;
    };
    save('third', 30);
    save('first', 10);
    save('settled', 15);
    const never = save('never', 16, false);
    await wakeups.committed({ appId: app, requestId: 'never' as RequestId, record: never });
    save('second', 20);
    save('settled', 15, false);
    const found = [...wakeups.awaited()];
    assert.deepEqual(
      found.map(({ requestId }) => requestId),
      ['first', 'second', 'third'],
    );
    assert.equal(found[0]?.appId, app);
    assert.equal(found[0]?.record.begunAtMs, nowMs + 10);
  });

  test(`${name}: exactly the events of all wakeups are published, in the order in which they were saved`, async (t) => {
    const kept = await make(t);
    const drafts = Array.from({ length: 9 }, (_, number) => draftOf(`device-${number % 2}`, number, nowMs));
    for (const [number, draft] of drafts.entries()) {
      const event = number % 3 === 0 ? null : draft;
      kept.wakeups.save(
        app,
        `ring-${number}` as RequestId,
        wakeup(number, { deviceId: draft.deviceId }),
        event,
      );
    }
    const published = (await kept.committedEvents()).map(({ deviceId, data }) => ({ deviceId, data }));
    const expected = drafts
      .filter((_, number) => number % 3 > 0)
      .map(({ deviceId, data }) => ({ deviceId, data }));
    assert.deepEqual(inOrder(kept, published), inOrder(kept, expected));
  });

  test(`${name}: other members find the newest state`, async (t) => {
    const kept = await make(t);
    for (const record of [accepted, completed]) {
      kept.wakeups.save(app, requestId, record, null);
      await kept.committedEvents();
      assert.deepEqual(await kept.recallWakeup(latestOf(app, requestId)), record);
      assert.deepEqual(await kept.recallWakeup({ appId: app, requestId, which: record.id }), record);
    }
    assert.equal(await kept.recallWakeup(latestOf(app, 'another' as RequestId)), null);
  });

  test(`${name}: an empty store is not full`, async (t) => {
    assert.equal((await make(t)).wakeups.isFull(), false);
  });
}
