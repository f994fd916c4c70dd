/** What legs are told, byte for byte. Source: calls-and-media.md, Legs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallMedia, CallRoom, LegMessage } from '../../../../src/model/call.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import { faultCloses, fullClose, legCloses } from '../../../../src/protocol/media/close-code.ts';
import {
  encodeKeyFrameWanted,
  encodeLegError,
  encodeLegMessage,
} from '../../../../src/protocol/media/leg-text.ts';

const sessionId = '0199b6f2-0000-7000-8000-000000000001' as SessionId;

const room: CallRoom = {
  msgAppId: 'wx-app',
  modelId: 'model-1',
  roomId: 'room-ä"1',
  sessionKey: 'the-key',
  sessionToken: 'the-token',
  payload: '{"from":"backend"}',
};

const media: CallMedia = {
  noVideo: false,
  upVideo: 'h264',
  downVideo: 'mjpeg',
  rotation: 2,
  screen: { width: 480, height: 240 },
  resolution: 'fit_screen',
  downAudio: 'opus',
  audioRate: 16_000,
  audioChannels: 2,
};

const messages: readonly (readonly [string, LegMessage, string])[] = [
  ['assign', { kind: 'assign', sessionId, media }, `{"type":"assign","session":"${sessionId}"}`],
  [
    'start',
    { kind: 'start', sessionId, room, media, request: { width: 320, height: 240, rotation: 2, maxFps: 15 } },
    '{"type":"start","request":{"width":320,"height":240,"rotation":2,"max_fps":15},' +
      '"audio":{"format":"opus","rate":16000,"channels":2},"payload":"{\\"from\\":\\"backend\\"}",' +
      '"room":{"app_id":"wx-app","model_id":"model-1","room_id":"room-ä\\"1",' +
      '"session_key":"the-key","session_token":"the-token"}}',
  ],
  [
    'start of an audio-only call',
    {
      kind: 'start',
      sessionId,
      room: { ...room, payload: '' },
      media: { ...media, noVideo: true },
      request: null,
    },
    '{"type":"start","request":null,"audio":{"format":"opus","rate":16000,"channels":2},"payload":"",' +
      '"room":{"app_id":"wx-app","model_id":"model-1","room_id":"room-ä\\"1",' +
      '"session_key":"the-key","session_token":"the-token"}}',
  ],
  [
    'state',
    { kind: 'state', sessionId, state: 'attempting', reason: null },
    `{"type":"state","session":"${sessionId}","state":"attempting","reason":null}`,
  ],
  [
    'end',
    { kind: 'state', sessionId, state: 'ended', reason: 'hangup_phone' },
    `{"type":"state","session":"${sessionId}","state":"ended","reason":"hangup_phone"}`,
  ],
];
for (const [name, message, text] of messages)
  test(`a leg is told of the ${name} as the page says`, () => {
    assert.equal(encodeLegMessage(message), text);
  });

test('an error says what is wrong, whatever characters it takes', () => {
  assert.equal(encodeLegError('not "so"'), '{"type":"error","message":"not \\"so\\""}');
});

test('a key frame is asked for in the words of the page', () => {
  assert.equal(encodeKeyFrameWanted(), '{"type":"key_frame_wanted"}');
});

test('the close codes of the page, and the words that go with them', () => {
  assert.deepEqual(
    [...Object.values(legCloses), ...Object.values(faultCloses), fullClose].map(
      ({ code, reason }) => `${code} ${reason}`,
    ),
    [
      '1000 ended',
      '4401 revoked',
      '4409 replaced',
      '4503 draining',
      '1009 too_large',
      '4400 malformed',
      '4429 too_much',
      '4503 media_full',
    ],
  );
});
