import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeOutcome } from '../../../../src/cli/api/wakeup-outcome.ts';
import type { WakeupOutcomeData } from '../../../../src/client/reveille-client.ts';

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

test('every outcome has its words', () => {
  const said = (change: Partial<WakeupOutcomeData>): string => describeOutcome({ ...completed, ...change });
  assert.equal(said({}), 'online again after 812 ms');
  assert.equal(said({ cause: 'remote' }), 'online again after 812 ms (cause: remote)');
  assert.equal(said({ already_online: true, woke_after_ms: 0 }), 'it was online already');
  assert.match(said({ status: 'failed' }), /^failed: .*reset/);
  assert.match(said({ status: 'expired' }), /^expired: .*60 s/);
  assert.match(said({ status: 'accepted' }), /^not online yet$/);
  assert.match(said({ status: 'unknown' }), /^not online yet; .*nobody knows/);
});
