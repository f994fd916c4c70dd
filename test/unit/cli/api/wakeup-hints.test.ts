import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeWakeup } from '../../../../src/cli/api/wakeup-hints.ts';
import type { ApiFailure } from '../../../../src/client/reveille-client.ts';
import { endpointCodes, type WakeupCode } from '../../../../src/model/codes.ts';

function refused(code: WakeupCode, retryAfterS: number | null = null): ApiFailure<WakeupCode> {
  const message = 'as the server says';
  return { ok: false, status: 200, requestId: 'r', code, message, retryAfterS, data: null };
}

test('a wakeup that was accepted says when the packet left', () => {
  const data = {
    device_id: 'DOOR-1',
    status: 'accepted',
    accepted_at: '2026-11-20T08:30:00.123+00:00',
  } as const;
  const wakeup = { ok: true, status: 202, requestId: 'r', message: 'success', data } as const;
  assert.match(describeWakeup('DOOR-1', wakeup), /being woken.*2026-11-20T08:30:00\.123/);
});

test('every code that a wakeup can answer has its hint, save the one for our own faults', () => {
  for (const code of endpointCodes.wakeup) {
    const said = describeWakeup('DOOR-1', refused(code));
    assert.match(said, new RegExp(`DOOR-1 was not woken: as the server says \\(${code}`));
    if (code !== 50000) assert.equal(said.split('\n').length, 3, String(code));
  }
});

test('a limit says when to come back', () => {
  assert.match(describeWakeup('DOOR-1', refused(42901, 7)), /come back in 7 s/);
});
