import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callEvent } from '../../../../src/model/state/call-session.ts';
import { type CallChange } from '../../../../src/model/call.ts';
import type { EventDraft } from '../../../../src/model/events.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { testDevice } from '../../../support/fakes.ts';

const about = { sessionId: 'session-1' as SessionId, deviceId: testDevice, atMs: 1_795_163_400_123 };

function eventOf(change: Pick<CallChange, 'from' | 'state' | 'reason'>): EventDraft {
  return callEvent({ ...about, ...change });
}

test('a call that begins publishes call.started, without an epoch', () => {
  assert.deepEqual(eventOf({ from: 'issued', state: 'establishing', reason: null }), {
    type: 'call.started',
    data: { session: 'session-1', state: 'establishing', reason: null },
    deviceId: testDevice,
    atMs: about.atMs,
    epoch: null,
  });
});
