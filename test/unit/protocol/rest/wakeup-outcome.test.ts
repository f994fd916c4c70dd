import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId, RequestId } from '../../../../src/model/ids.ts';
import type { WakeupRecord } from '../../../../src/model/wakeup.ts';
import {
  decodeWakeupOutcomeQuery,
  encodeWakeupRecord,
} from '../../../../src/protocol/rest/wakeup-outcome.ts';

const good: [string, string, string, number][] = [
  ['a request id alone', 'request_id=r-1', 'r-1', 0],
  ['a wait of nothing', 'request_id=r-1&wait=0', 'r-1', 0],
  ['the longest wait', 'request_id=r-1&wait=30', 'r-1', 30_000],
  ['the longest wait with decimals', 'request_id=r-1&wait=30.000', 'r-1', 30_000],
  ['a wait with decimals', 'wait=2.5&request_id=r-1', 'r-1', 2500],
  ['three decimals', 'request_id=r-1&wait=0.007', 'r-1', 7],
  ['milliseconds that binary fractions miss', 'request_id=r-1&wait=1.001', 'r-1', 1001],
  ['a space and a tilde in the id', 'request_id=+a%20~', ' a ~', 0],
  ['128 characters', `request_id=${'x'.repeat(128)}`, 'x'.repeat(128), 0],
  ['a key nobody asked for', 'request_id=r-1&x=1', 'r-1', 0],
];
for (const [name, query, requestId, waitMs] of good) {
  test(`an outcome query with ${name} is read`, () => {
    assert.deepEqual(decodeWakeupOutcomeQuery(query), { ok: true, value: { requestId, waitMs } });
  });
}

const bad: [string, string][] = [
  ['nothing', ''],
  ['a wait alone', 'wait=1'],
  ['an empty id', 'request_id='],
  ['an id of 129 characters', `request_id=${'x'.repeat(129)}`],
  ['an id that is not ASCII', 'request_id=%C3%A9'],
  ['a control character in the id', 'request_id=a%0A'],
  ['two ids', 'request_id=a&request_id=b'],
  ['a bad escape', 'request_id=%zz'],
  ['an empty wait', 'request_id=r-1&wait='],
  ['a negative wait', 'request_id=r-1&wait=-1'],
  ['a wait beyond 30 s', 'request_id=r-1&wait=30.001'],
  ['a wait of 31 s', 'request_id=r-1&wait=31'],
  ['a wait of three digits', 'request_id=r-1&wait=007'],
  ['four decimals', 'request_id=r-1&wait=1.0001'],
  ['a point and no decimals', 'request_id=r-1&wait=1.'],
  ['decimals and no whole', 'request_id=r-1&wait=.5'],
  ['an exponent', 'request_id=r-1&wait=1e1'],
  ['a sign', 'request_id=r-1&wait=%2B1'],
  ['a space before the wait', 'request_id=r-1&wait=+1'],
  ['a unit', 'request_id=r-1&wait=1s'],
  ['hexadecimal', 'request_id=r-1&wait=0x1'],
  ['a line feed behind', 'request_id=r-1&wait=1%0A'],
  ['two waits', 'request_id=r-1&wait=1&wait=1'],
  ['digits of another script', 'request_id=r-1&wait=%D9%A1'],
];
for (const [name, query] of bad) {
  test(`an outcome query with ${name} is refused`, () => {
    assert.equal(decodeWakeupOutcomeQuery(query).ok, false);
  });
}

const accepted: WakeupRecord = {
  deviceId: 'D"1' as DeviceId,
  status: 'accepted',
  isAwaited: true,
  begunAtMs: 0,
  acceptedAtMs: Date.UTC(2026, 10, 20, 8, 30, 0, 123),
  completedAtMs: null,
  wokeAfterMs: null,
  alreadyOnline: false,
  cause: null,
  sleepEpoch: 1,
  isCallersId: true,
  bodySha256: '00',
  watcher: null,
};

test('what is not known yet is null, and nothing is left out', () => {
  assert.equal(
    encodeWakeupRecord('r-1' as RequestId, accepted),
    '{"request_id":"r-1","device_id":"D\\"1","status":"accepted",' +
      '"accepted_at":"2026-11-20T08:30:00.123+00:00","completed_at":null,"woke_after_ms":null,' +
      '"already_online":false,"cause":null}',
  );
});

test('a completed wakeup says when, after how long, and what woke the device', () => {
  const completed: WakeupRecord = {
    ...accepted,
    status: 'completed',
    isAwaited: false,
    completedAtMs: Date.UTC(2026, 10, 20, 8, 30, 2, 468),
    wokeAfterMs: 2345,
    cause: 'remote',
  };
  assert.deepEqual(JSON.parse(encodeWakeupRecord('r-1' as RequestId, completed)), {
    request_id: 'r-1',
    device_id: 'D"1',
    status: 'completed',
    accepted_at: '2026-11-20T08:30:00.123+00:00',
    completed_at: '2026-11-20T08:30:02.468+00:00',
    woke_after_ms: 2345,
    already_online: false,
    cause: 'remote',
  });
});
