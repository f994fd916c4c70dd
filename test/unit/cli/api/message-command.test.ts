/** The command's description of an answer to a message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeMessage } from '../../../../src/cli/api/message-command.ts';
import type { ApiFailure, MessageWakeupData } from '../../../../src/client/reveille-client.ts';
import type { MessageCode } from '../../../../src/model/codes.ts';

const acknowledged = { device_id: 'DOOR-1', id: 'm-1', acknowledged_at: '2026-11-20T08:30:01.204+00:00' };
const wakeup: MessageWakeupData = {
  request_id: 'w-1',
  status: 'completed',
  accepted_at: '2026-11-20T08:30:00.123+00:00',
  woke_after_ms: 925,
};

function received(woken?: MessageWakeupData | null): string {
  const data = woken === undefined ? acknowledged : { ...acknowledged, wakeup: woken };
  return describeMessage('DOOR-1', { ok: true, status: 200, requestId: 'r', message: 'success', data });
}

function refused(code: MessageCode, woken?: MessageWakeupData): string {
  const failure: ApiFailure<MessageCode> = {
    ok: false,
    status: Math.floor(code / 100),
    requestId: 'r-1',
    code,
    message: 'as the server says',
    retryAfterS: null,
    data: woken === undefined ? null : { wakeup: woken },
  };
  return describeMessage('DOOR-1', failure);
}

test('an acknowledged message shows the time and, for a sleeping device, the wake time', () => {
  assert.equal(received(), 'DOOR-1 acknowledged it at 2026-11-20T08:30:01.204+00:00');
  assert.equal(received(null), received());
  assert.equal(received(wakeup), `${received()}, woken in 925 ms`);
});

test('a refusal shows code, status and request id, and how to wake a device that is not online', () => {
  assert.match(
    refused(42901),
    /^DOOR-1 did not get the message: as the server says \(42901, HTTP 429\)\n {2}request id r-1$/,
  );
  assert.match(refused(40412), /--wake wakes a sleeping device$/);
});

test('if a device did not wake in time, the answer says how to query its wakeup', () => {
  const open = refused(50402, { ...wakeup, status: 'accepted', woke_after_ms: null });
  assert.match(open, /the wakeup is accepted; it may still wake: .*request_id=w-1/);
  assert.match(refused(50402, { ...wakeup, status: 'failed' }), /the wakeup is failed: /);
});
