import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reduceCall, type CallInput } from '../../../../src/model/state/call-session.ts';
import {
  callEndReasons,
  liveCallStates,
  type CallSession,
  type LiveCallState,
} from '../../../../src/model/call.ts';
import type { TokenId } from '../../../../src/model/ids.ts';
import { callSession, progress } from '../../../support/call-scene.ts';

const atMs = 1_050_000;
const token = 'token-1' as TokenId;

/** In this state, with what it must have gone through. */
function inState(state: LiveCallState, change: Partial<CallSession> = {}): CallSession {
  return callSession({ state, ringsFromMs: isRinging(state) ? 1_010_000 : null, ...change });
}

function isRinging(state: LiveCallState): boolean {
  return state === 'ringing' || state === 'attempting';
}

const both = { hasSeenDevice: true, hasSeenBridge: true, connectedTokens: [token] };
const inputs = {
  'first device': [{ kind: 'device-connected', tokenId: token }, {}],
  'device again': [{ kind: 'device-connected', tokenId: token }, both],
  'first bridge': [{ kind: 'bridge-connected' }, {}],
  'bridge again': [{ kind: 'bridge-connected' }, both],
  ringing: [{ kind: 'reported', report: progress('ringing') }, both],
  attempting: [{ kind: 'reported', report: progress('attempting') }, both],
  connected: [{ kind: 'reported', report: progress('connected') }, both],
  hangup: [{ kind: 'reported', report: { kind: 'end', reason: 'hangup_phone' } }, both],
  'lease over': [{ kind: 'lease-ended' }, both],
  'ended by the server': [{ kind: 'ended', reason: 'replaced' }, both],
} as const satisfies Record<string, readonly [CallInput, Partial<CallSession>]>;

/** The state it goes to, or `=`, and the seconds of the lease that begins; no seconds: the lease goes on. */
const table: Record<LiveCallState, Record<keyof typeof inputs, string>> = {
  issued: {
    'first device': 'establishing 35',
    'device again': 'establishing 35',
    'first bridge': 'establishing 35',
    'bridge again': 'establishing 35',
    ringing: 'ringing 45',
    attempting: 'attempting 45',
    connected: 'connected 60',
    hangup: 'ended hangup_phone',
    'lease over': 'ended timeout',
    'ended by the server': 'ended replaced',
  },
  establishing: {
    'first device': '= 35',
    'device again': '=',
    'first bridge': '= 35',
    'bridge again': '=',
    ringing: 'ringing 45',
    attempting: 'attempting 45',
    connected: 'connected 60',
    hangup: 'ended hangup_phone',
    'lease over': 'ended lost',
    'ended by the server': 'ended replaced',
  },
  ringing: {
    'first device': '=',
    'device again': '=',
    'first bridge': '=',
    'bridge again': '=',
    ringing: '=',
    attempting: 'attempting',
    connected: 'connected 60',
    hangup: 'ended hangup_phone',
    'lease over': 'ended timeout',
    'ended by the server': 'ended replaced',
  },
  attempting: {
    'first device': '=',
    'device again': '=',
    'first bridge': '=',
    'bridge again': '=',
    ringing: '=',
    attempting: '=',
    connected: 'connected 60',
    hangup: 'ended hangup_phone',
    'lease over': 'ended timeout',
    'ended by the server': 'ended replaced',
  },
  connected: {
    'first device': '=',
    'device again': '=',
    'first bridge': '=',
    'bridge again': '=',
    ringing: '= 60',
    attempting: '= 60',
    connected: '= 60',
    hangup: 'ended hangup_phone',
    'lease over': 'ended lost',
    'ended by the server': 'ended replaced',
  },
};

for (const state of liveCallStates)
  for (const [name, [input, before]] of Object.entries(inputs)) {
    const expected = table[state][name as keyof typeof inputs];
    test(`${state}, ${name}: ${expected}`, () => {
      const session = inState(state, before);
      const { session: after, change, leaseMs } = reduceCall(session, input, atMs);
      const to = change === null ? '=' : change.state;
      const seconds = leaseMs === null ? [] : [leaseMs / 1000];
      assert.equal([to, ...(change?.reason ? [change.reason] : seconds)].join(' '), expected);
      if (change === null) return assert.equal(after.state, state);
      assert.deepEqual(change, {
        sessionId: session.sessionId,
        deviceId: session.deviceId,
        from: state,
        state: change.state,
        reason: change.state === 'ended' ? change.reason : null,
        atMs,
      });
      assert.equal(after.state, change.state === 'ended' ? state : change.state);
    });
  }

test('what changes nothing leaves the very session that was there, so that nothing is written', () => {
  const session = inState('connected', both);
  for (const input of [inputs['device again'], inputs['bridge again'], inputs.ringing, inputs.connected])
    assert.equal(reduceCall(session, input[0], atMs).session, session);
});

for (const first of ['ringing', 'attempting'] as const)
  test(`it rings from the first report of ${first}, by the wall clock, and later ones do not move that`, () => {
    const rings = reduceCall(inState('establishing'), { kind: 'reported', report: progress(first) }, atMs);
    assert.equal(rings.session.ringsFromMs, atMs);
    const later = reduceCall(rings.session, inputs.attempting[0], atMs + 9000);
    assert.equal(later.session.ringsFromMs, atMs);
    assert.equal(later.leaseMs, null);
    assert.equal(reduceCall(later.session, inputs.connected[0], atMs + 9000).session.ringsFromMs, atMs);
  });

test('a call that was connected without ringing never rang', () => {
  assert.equal(reduceCall(inState('establishing'), inputs.connected[0], atMs).session.ringsFromMs, null);
});

test('the first connect of each side is remembered', () => {
  const device = reduceCall(callSession(), inputs['first device'][0], atMs).session;
  assert.deepEqual(
    [device.hasSeenDevice, device.hasSeenBridge, device.connectedTokens],
    [true, false, [token]],
  );
  const bridge = reduceCall(device, inputs['first bridge'][0], atMs);
  assert.deepEqual([bridge.session.hasSeenDevice, bridge.session.hasSeenBridge], [true, true]);
});

test('of the tokens that connected the last four are remembered, each once, newest last', () => {
  let session = callSession();
  const connect = (tokenId: string): string => {
    session = reduceCall(session, { kind: 'device-connected', tokenId: tokenId as TokenId }, atMs).session;
    return session.connectedTokens.join();
  };
  connect('a');
  assert.equal(connect('b'), 'a,b');
  assert.equal(connect('a'), 'b,a');
  for (const tokenId of ['c', 'd']) connect(tokenId);
  assert.equal(connect('e'), 'a,c,d,e');
});

for (const reason of callEndReasons)
  test(`a leg or the server may end it as ${reason}`, () => {
    const session = inState('connected', both);
    const reported = reduceCall(session, { kind: 'reported', report: { kind: 'end', reason } }, atMs);
    assert.deepEqual(reduceCall(session, { kind: 'ended', reason }, atMs), reported);
    assert.equal(reported.change?.reason, reason);
    assert.equal(reported.session, session);
  });
