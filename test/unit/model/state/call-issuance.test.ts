import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueSession, reissueSession } from '../../../../src/model/state/call-issuance.ts';
import { liveCallStates, type CallMedia } from '../../../../src/model/call.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { callMedia, callOrder, callRoom, callSession } from '../../../support/call-scene.ts';

const id = 'session-1' as SessionId;
const laterRoom = { ...callRoom, sessionKey: 'later-key', sessionToken: 'later-token', payload: '{}' };

test('an issued session has the fields of its order, and nobody has connected', () => {
  const order = { ...callOrder(), requestId: 'of the request' };
  assert.deepEqual(issueSession(id, order, 1_000_000), callSession());
});

for (const [atMs, expiresAtMs] of [
  [1_000_000, 1_100_000],
  [1_000_999, 1_100_000],
  [1_001_000, 1_101_000],
] as const)
  test(`issued at ${atMs} ms with a ring timeout of 40 s it expires at ${expiresAtMs} ms`, () => {
    assert.equal(issueSession(id, callOrder(), atMs).expiresAtMs, expiresAtMs);
  });

for (const state of liveCallStates)
  test(`issued again while ${state}: the same session with the room's latest values and a later expiry`, () => {
    const session = callSession({ state, hasSeenDevice: true });
    const again = reissueSession(session, callOrder({ room: laterRoom, callingTimeoutS: 60 }), 1_010_500);
    const renewed = { ...session, room: laterRoom, callingTimeoutS: 60, expiresAtMs: 1_130_000 };
    assert.deepEqual(again, { kind: 'renewed', session: renewed });
  });

for (const state of ['ringing', 'attempting', 'connected'] as const)
  test(`issued again while ${state} the ring timeout stays, and the token has the latest expiry`, () => {
    const session = callSession({ state, ringsFromMs: 1_005_000 });
    const again = reissueSession(session, callOrder({ callingTimeoutS: 600 }), 1_010_000);
    assert.ok(again.kind === 'renewed');
    assert.equal(again.session.callingTimeoutS, 40);
    assert.equal(again.session.expiresAtMs, 1_670_000);
  });

const otherMedia: { readonly [Field in keyof CallMedia]: readonly CallMedia[Field][] } = {
  noVideo: [true],
  upVideo: ['h265', 'none'],
  downVideo: ['h264', 'none'],
  rotation: [1, 2],
  screen: [null, { width: 161, height: 100 }, { width: 160, height: 101 }, { width: 100, height: 160 }],
  resolution: ['auto', 'fill_screen'],
  downAudio: ['opus'],
  audioRate: [16_000],
  audioChannels: [2],
};
for (const [field, values] of Object.entries(otherMedia))
  for (const value of values) {
    const order = callOrder({ media: { ...callMedia, [field]: value } });
    test(`another ${field} (${JSON.stringify(value)}) replaces the media parameters while nobody has connected`, () => {
      const again = reissueSession(callSession(), order, 1_000_000);
      assert.deepEqual(again, { kind: 'changed', session: callSession({ media: order.media }) });
    });

    test(`another ${field} (${JSON.stringify(value)}) is refused once somebody has connected`, () => {
      for (const state of ['establishing', 'ringing', 'attempting', 'connected'] as const)
        assert.deepEqual(reissueSession(callSession({ state }), order, 1_000_000), { kind: 'media_in_use' });
    });
  }

test('media parameters are compared by value', () => {
  const order = callOrder({ media: { ...callMedia, screen: { width: 160, height: 100 } } });
  assert.equal(reissueSession(callSession({ state: 'connected' }), order, 1_000_000).kind, 'renewed');
  const audio = { ...callMedia, noVideo: true, screen: null };
  const session = callSession({ state: 'connected', media: audio });
  assert.equal(reissueSession(session, callOrder({ media: { ...audio } }), 1_000_000).kind, 'renewed');
});
