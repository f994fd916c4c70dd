/** Texts to legs, byte for byte. Source: calls-and-media.md, Legs. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { type CallMedia, type CallRoom, type LegMessage } from '../../../../src/model/call.ts';
import { asItComes, type UplinkWish } from '../../../../src/model/media/sound.ts';
import type { SessionId } from '../../../../src/model/ids.ts';
import {
  faultCloses,
  fullClose,
  legCloses,
  encodeKeyFrameWanted,
  encodeFramesDropped,
  encodeMaxFpsWanted,
  encodeLegError,
  encodeLegMessage,
  parseBridgeText,
  parseDeviceText,
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
  test(`the message about the ${name} is that of the page`, () => {
    assert.equal(encodeLegMessage(message), text);
  });

test('an error states the fault in any characters', () => {
  assert.equal(encodeLegError('not "so"'), '{"type":"error","message":"not \\"so\\""}');
});

test('the request for a key frame is that of the page', () => {
  assert.equal(encodeKeyFrameWanted(), '{"type":"key_frame_wanted"}');
});

test('the request for a frame rate is that of the page', () => {
  assert.equal(encodeMaxFpsWanted(7), '{"type":"max_fps_wanted","max_fps":7}');
  assert.equal(
    encodeFramesDropped('cut'),
    '{"type":"frames_dropped","cause":"cut","message":"a JPEG is cut in its scan"}',
  );
});

test('the close codes and their words are those of the page', () => {
  assert.deepEqual(
    [...Object.values(legCloses), ...Object.values(faultCloses), fullClose].map(
      ({ code, reason }) => `${code} ${reason}`,
    ),
    [
      '1000 ended',
      '4401 revoked',
      '4409 replaced',
      '4503 draining',
      '4503 moved',
      '1009 too_large',
      '4400 malformed',
      '4429 too_much',
      '4503 media_full',
    ],
  );
});

const wishes: readonly (readonly [object, UplinkWish])[] = [
  [{}, asItComes],
  [{ audio: null, video: null, more: 1 }, asItComes],
  [
    { audio: { format: 'opus', rate: 48_000, channels: 2, more: 1 }, video: 'h264' },
    { audio: { format: 'opus', rate: 48_000, channels: 2 }, video: 'h264' },
  ],
  [
    { audio: { format: 'amr', rate: 16_000, channels: 1 } },
    { audio: { format: 'amr', rate: 16_000, channels: 1 }, video: null },
  ],
];
for (const [fields, wish] of wishes)
  test(`a bridge requests formats of the device: ${JSON.stringify(fields)}`, () => {
    const text = Buffer.from(JSON.stringify({ type: 'uplink', ...fields }));
    assert.deepEqual(parseBridgeText(text), { ok: true, value: { kind: 'uplink', wish } });
  });

test('either leg requests a key frame', () => {
  const text = Buffer.from('{"type":"key_frame_wanted","more":1}');
  const said = { ok: true, value: { kind: 'key_frame_wanted' } };
  assert.deepEqual([parseBridgeText(text), parseDeviceText(text)], [said, said]);
});

const stateSentence = /^the state is ringing, attempting, connected or ended$/;
const bridgeTypes = /^the type of a bridge is accept, refuse, state, uplink or key_frame_wanted$/;
const form = /^a text message is a JSON object with a type: /;
const badBridge: readonly (readonly [string, RegExp])[] = [
  ['[]', form],
  ['{"type":"hangup"}', bridgeTypes],
  ['{"type":"state","state":"establishing"}', stateSentence],
];
const soundSentence = /^the audio of an uplink has a format, a rate and channels, or is null: unchanged\. /;
const badUplink: readonly (readonly [string, RegExp])[] = [
  ['{"type":"uplink","video":"h265"}', /^the video of an uplink is h264, or null: unchanged$/],
  ['{"type":"uplink","video":["h264"]}', /^the video of an uplink is h264, or null: unchanged$/],
  ...[
    '"pcm"',
    '[]',
    '{}',
    '{"format":"mp3","rate":8000,"channels":1}',
    '{"format":"__proto__","rate":8000,"channels":1}',
    '{"format":"alaw","rate":48000,"channels":1}',
    '{"format":"pcm","rate":44100,"channels":1}',
    '{"format":"pcm","rate":"8000","channels":1}',
    '{"format":"pcm","rate":8000}',
    '{"format":"pcm","rate":8000,"channels":0}',
    '{"format":"pcm","rate":8000,"channels":1.5}',
    '{"format":"pcm","rate":8000,"channels":3}',
    '{"format":"amr","rate":8000,"channels":2}',
  ].map((audio) => [`{"type":"uplink","audio":${audio}}`, soundSentence] as const),
];
const deviceTypes = /^the type of a device is accept, reject, hangup or key_frame_wanted$/;
const badDevice: readonly (readonly [string, RegExp])[] = [
  ['{"type":"accept"', form],
  ['{"type":"refuse"}', deviceTypes],
];
const bad = [
  ...[...badBridge, ...badUplink].map(([text, sentence]) => ({
    who: 'bridge',
    text,
    sentence,
    parse: parseBridgeText,
  })),
  ...badDevice.map(([text, sentence]) => ({ who: 'device', text, sentence, parse: parseDeviceText })),
];
for (const { who, text, sentence, parse } of bad)
  test(`the error to a ${who} that sends ${JSON.stringify(text)} states the expected form`, () => {
    const parsed = parse(Buffer.from(text));
    assert(!parsed.ok);
    assert.match(parsed.error, sentence);
  });
