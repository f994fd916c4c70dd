import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeWakeup, describeOutcome } from '../../../../src/cli/api/wakeup-outcome.ts';
import type { ApiFailure, WakeupOutcomeData } from '../../../../src/client/reveille-client.ts';
import { endpointCodes, type WakeupCode } from '../../../../src/model/codes.ts';

function refused(code: WakeupCode, retryAfterS: number | null = null): ApiFailure<WakeupCode> {
  const message = 'as the server says';
  return { ok: false, status: 200, requestId: 'r', code, message, retryAfterS, data: null };
}

test('an accepted wakeup shows the time of its packet', () => {
  const data = {
    device_id: 'DOOR-1',
    status: 'accepted',
    accepted_at: '2026-11-20T08:30:00.123+00:00',
  } as const;
  const wakeup = { ok: true, status: 202, requestId: 'r', message: 'success', data } as const;
  assert.match(describeWakeup('DOOR-1', wakeup), /being woken.*2026-11-20T08:30:00\.123/);
});

test('every code of a wakeup has advice, except the one for internal errors', () => {
  for (const code of endpointCodes.wakeup) {
    const said = describeWakeup('DOOR-1', refused(code));
    assert.match(said, new RegExp(`DOOR-1 was not woken: as the server says \\(${code}`));
    if (code !== 50000) assert.equal(said.split('\n').length, 3, String(code));
  }
});

test('a limit shows when to retry', () => {
  assert.match(describeWakeup('DOOR-1', refused(42901, 7)), /try again in 7 s/);
});

const completed: WakeupOutcomeData = {
  request_id: 'r',
  device_id: 'D1',
  status: 'completed',
  accepted_at: '2026-11-20T08:30:00.123+00:00',
  completed_at: '2026-11-20T08:30:00.935+00:00',
  woke_after_ms: 812,
  already_online: false,
  cause: null,
};

test('every outcome has a description', () => {
  const said = (change: Partial<WakeupOutcomeData>): string => describeOutcome({ ...completed, ...change });
  assert.equal(said({}), 'online again after 812 ms');
  assert.equal(said({ cause: 'remote' }), 'online again after 812 ms (cause: remote)');
  assert.equal(said({ already_online: true, woke_after_ms: 0 }), 'it was online already');
  assert.match(said({ status: 'failed' }), /^failed: .*reset/);
  assert.match(said({ status: 'expired' }), /^expired: .*60 s/);
  assert.match(said({ status: 'accepted' }), /^not online yet$/);
  assert.match(said({ status: 'unknown' }), /^not online yet; it is unknown/);
});
