/** Every row of the source's table, valid and invalid: one field is changed, all others are valid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  encodeCallCredentials,
  type CallCredentialsBody,
  encodePeerId,
} from '../../../../src/protocol/rest/call-credentials.ts';
import {
  decodeCallBody,
  callBody,
  callBodyFields,
  type CallBodyField,
} from '../../../support/call-bodies.ts';
import type { CallRoom } from '../../../../src/model/call.ts';
import { parseOrigin } from '../../../../src/model/settings-values.ts';
import { generateSessionId, type DeviceId, type SessionId } from '../../../../src/model/ids.ts';
import {
  deviceIdBytesMax,
  msgIdCharactersMax,
  peerIdBytesMax,
  roomIdBytesMax,
} from '../../../../src/model/limits.ts';

function decode(changes?: Readonly<Record<string, string | undefined>>): CallCredentialsBody {
  const decoded = decodeCallBody(callBody(changes), 'allow', () => null);
  assert.ok(decoded.ok, JSON.stringify(decoded));
  return decoded.value;
}

function mistake(body: Uint8Array): string {
  const decoded = decodeCallBody(body, 'allow', () => null);
  assert.ok(!decoded.ok, 'the body is taken');
  return decoded.error;
}

/** The decoded value of a field. The video formats, the mode and their rules are in call-media.test.ts. */
const cameOf: Readonly<Record<CallBodyField, (body: CallCredentialsBody) => unknown>> = {
  msg_session_key: ({ room }) => room.sessionKey,
  msg_room_id: ({ room }) => room.roomId,
  msg_session_token: ({ room }) => room.sessionToken,
  msg_app_id: ({ room }) => room.msgAppId,
  device_id: ({ deviceId }) => deviceId,
  msg_model_id: ({ room }) => room.modelId,
  msg_payload: ({ room }) => room.payload,
  calling_timeout_sec: ({ callingTimeoutS }) => callingTimeoutS,
  no_video: ({ media }) => media.noVideo,
  video_mt: ({ media }) => [media.upVideo, media.downVideo],
  up_video_mt: ({ media }) => media.upVideo,
  down_video_mt: ({ media }) => media.downVideo,
  down_video_rotation: ({ media }) => media.rotation,
  screen_width: ({ media }) => media.screen?.width,
  screen_height: ({ media }) => media.screen?.height,
  video_res_mode: ({ media }) => media.resolution,
  down_audio_mt: ({ media }) => media.downAudio,
  audio_rate: ({ media }) => media.audioRate,
  audio_channels: ({ media }) => media.audioChannels,
};

test('a body with only the required fields shows the defaults', () => {
  assert.deepEqual(decode(), {
    deviceId: 'TESTDEVICE01',
    room: {
      msgAppId: 'wx0123456789abcdef',
      modelId: 'model_1',
      roomId: 'room-1',
      sessionKey: 'the session key',
      sessionToken: 'the session token',
      payload: '',
    },
    media: {
      noVideo: false,
      upVideo: 'h264',
      downVideo: 'h264',
      rotation: 0,
      screen: { width: 320, height: 240 },
      resolution: 'auto',
      downAudio: 'alaw',
      audioRate: 8000,
      audioChannels: 1,
    },
    callingTimeoutS: 30,
  });
});

const ascii = (length: number): string => 'x'.repeat(length);
/** This many bytes: two per character, plus a last single one if odd. */
const wide = (bytes: number): string => 'é'.repeat(bytes / 2) + ascii(bytes % 2);

/** Valid texts, decoded unchanged. */
const rightTexts: readonly (readonly [CallBodyField, readonly string[]])[] = [
  ['msg_session_key', ['x', ascii(1024), wide(1024), '\u0000"\\/😀', ' ']],
  ['msg_room_id', ['0', ascii(127), wide(127), 'room/1?&#%']],
  ['msg_session_token', ['x', ascii(1024), wide(1024)]],
  ['msg_app_id', ['A', 'wx_0.-Z', ascii(63)]],
  ['device_id', ['D', ascii(255), wide(255), '\u0001 device']],
  ['msg_model_id', ['m', '-._', ascii(63)]],
  ['msg_payload', ['{"a":1}', ' ', ascii(16_384), wide(16_384)]],
  ['up_video_mt', ['h264', 'h265', 'mjpeg', 'none']],
  ['down_video_mt', ['h264', 'mjpeg', 'none']],
  ['down_audio_mt', ['alaw', 'amr', 'opus']],
];
for (const [field, texts] of rightTexts)
  for (const text of texts)
    test(`${field} may be ${shorten(JSON.stringify(text))}`, () => {
      assert.equal(cameOf[field](decode({ [field]: JSON.stringify(text) })), text);
    });

const rightValues: readonly (readonly [CallBodyField, string, unknown])[] = [
  ['calling_timeout_sec', '0.5', 1],
  ['calling_timeout_sec', '1e-9', 1],
  ['calling_timeout_sec', '1', 1],
  ['calling_timeout_sec', '3600', 3600],
  ['calling_timeout_sec', '30.2', 31],
  ['calling_timeout_sec', '3599.2', 3600],
  ['calling_timeout_sec', '3599.5', 3600],
  ['calling_timeout_sec', '45.0', 45],
  ['calling_timeout_sec', '6e1', 60],
  ['no_video', 'true', true],
  ['no_video', 'false', false],
  ['video_mt', '"mjpeg"', ['mjpeg', 'mjpeg']],
  ['down_video_rotation', '0', 0],
  ['down_video_rotation', '-0', 0],
  ['down_video_rotation', '1', 1],
  ['down_video_rotation', '2.0', 2],
  ['screen_width', '1', 1],
  ['screen_width', '16384', 16_384],
  ['screen_width', '321', 321],
  ['screen_height', '1', 1],
  ['screen_height', '16384.0', 16_384],
  ['video_res_mode', '"auto"', 'auto'],
  ['audio_rate', '8000', 8000],
  ['audio_rate', '16000', 16_000],
  ['audio_rate', '1.6e4', 16_000],
  ['audio_channels', '1', 1],
  ['audio_channels', '2', 2],
];
for (const [field, text, value] of rightValues)
  test(`${field} may be ${text}`, () => {
    assert.deepEqual(cameOf[field](decode({ [field]: text })), value);
  });

const defaults: readonly (readonly [CallBodyField, unknown])[] = [
  ['msg_payload', ''],
  ['calling_timeout_sec', 30],
  ['no_video', false],
  ['video_mt', ['h264', 'h264']],
  ['up_video_mt', 'h264'],
  ['down_video_mt', 'h264'],
  ['down_video_rotation', 0],
  ['video_res_mode', 'auto'],
  ['down_audio_mt', 'alaw'],
];
for (const [field, value] of defaults)
  for (const blank of [undefined, '""', 'null'])
    test(`${field} is ${JSON.stringify(value)} when it is ${blank ?? 'omitted'}`, () => {
      assert.deepEqual(cameOf[field](decode({ [field]: blank })), value);
    });

const required = callBodyFields.filter((field) => callBody().includes(`"${field}"`));
for (const field of required)
  test(`${field} is required`, () => {
    assert.match(mistake(callBody({ [field]: undefined })), new RegExp(`^${field} is missing`));
  });

const noText = ['null', '""', '5', 'true', '["x"]', '{"x":"x"}'] as const;
const wrongTexts = (...texts: string[]): string[] => texts.map((text) => JSON.stringify(text));

/** Field, the rule in the message, JSON texts that break it. */
const wrong: readonly (readonly [CallBodyField, string, readonly string[]])[] = [
  [
    'msg_session_key',
    'must be a string of 1-1024 bytes',
    [...noText, ...wrongTexts(ascii(1025), wide(1025))],
  ],
  ['msg_room_id', 'must be a string of 1-127 bytes', [...noText, ...wrongTexts(ascii(128), wide(128))]],
  [
    'msg_session_token',
    'must be a string of 1-1024 bytes',
    [...noText, ...wrongTexts(ascii(1025), wide(1025))],
  ],
  [
    'msg_app_id',
    'must be 1-63 characters of A-Z, a-z, 0-9, _, . and -',
    [...noText, ...wrongTexts(ascii(64), 'a b', 'a/b', 'a%20', 'é', 'a\n', '\na')],
  ],
  ['device_id', 'must be 1-255 bytes of valid UTF-8', [...noText, ...wrongTexts(ascii(256), wide(256))]],
  [
    'msg_model_id',
    'must be 1-63 characters of A-Z, a-z, 0-9, _, . and -',
    [...noText, ...wrongTexts(ascii(64), 'a~', 'a&b', 'a\u0000')],
  ],
  [
    'msg_payload',
    'must be a string of at most 16384 bytes',
    ['5', 'false', '[]', '{}', ...wrongTexts(ascii(16_385), wide(16_385))],
  ],
  [
    'calling_timeout_sec',
    'must be a number above 0, at most 3600',
    ['0', '-0', '-0.5', '3601', '-30', '3600.5', '3600.000001', '1e999', '"30"', 'true', '[30]', '{}'],
  ],
  ['no_video', 'must be one of true, false', ['"true"', '"false"', '1', '0', '[]', '{}']],
  ['video_mt', 'must be one of h264, mjpeg, none', ['"h265"', '"H264"', '"vp8"', '" "', '1', '["h264"]']],
  ['up_video_mt', 'must be one of h264, h265, mjpeg, none', ['"h266"', '"MJPEG"', 'true', '{}']],
  ['down_video_mt', 'must be one of h264, mjpeg, none', ['"h265"', '"jpeg"', 'false', '[]']],
  ['down_video_rotation', 'must be one of 0, 1, 2', ['3', '-1', '0.5', '"0"', 'true', '90']],
  [
    'screen_width',
    'must be an integer from 1 to 16384',
    ['"320"', '0', '16385', '-1', '1.5', '1e999', 'true', '[]'],
  ],
  [
    'screen_height',
    'must be an integer from 1 to 16384',
    ['"240"', '0', '16385', '-1', '239.999', '-1e999', '{}'],
  ],
  [
    'video_res_mode',
    'must be one of auto, fit_screen, fill_screen',
    ['"fit"', '"AUTO"', '"fill-screen"', '1', 'true', '[]'],
  ],
  ['down_audio_mt', 'must be one of alaw, amr, opus', ['"ulaw"', '"pcma"', '"ALAW"', '1', '{}']],
  ['audio_rate', 'must be one of 8000, 16000', ['null', '""', '"8000"', '44100', '0', '8000.5', 'true']],
  ['audio_channels', 'must be one of 1, 2', ['null', '""', '"1"', '0', '3', '1.5', 'true', '[1]']],
];
for (const [field, rule, texts] of wrong)
  for (const text of texts)
    test(`${field} must not be ${shorten(text)}`, () => {
      assert.equal(mistake(callBody({ [field]: text })), `${field} ${rule}`);
    });

test('the tables above cover every field', () => {
  assert.deepEqual(
    wrong.map(([field]) => field),
    callBodyFields,
  );
  const right = [...rightTexts, ...rightValues].map(([field]) => field);
  assert.deepEqual(new Set(right), new Set(callBodyFields));
  const bodies =
    wrong.flatMap(([, , texts]) => texts).length + rightTexts.flatMap(([, texts]) => texts).length;
  assert.ok(bodies + rightValues.length >= 150, `${bodies + rightValues.length} bodies`);
});

test('the first of several mistakes in the order of the table is reported', () => {
  const changes: Record<string, string | undefined> = {};
  for (const [field, , [text]] of wrong) changes[field] = text;
  for (const [field] of wrong) {
    assert.match(mistake(callBody(changes)), new RegExp(`^${field} `));
    delete changes[field];
  }
  decode(changes);
});

test('mistakes of single fields are reported before mistakes across fields', () => {
  assert.match(mistake(callBody({ screen_width: undefined, audio_rate: '1' })), /^audio_rate /);
});

test('unknown fields are ignored, and of a repeated field the last counts', () => {
  assert.deepEqual(decode({ colour: '"red"', ['__proto__']: '{"no_video":true}', DEVICE_ID: '5' }), decode());
  const twice = Buffer.from(`{"audio_rate":"no",${callBody().toString().slice(1)}`);
  assert.deepEqual(
    decodeCallBody(twice, 'allow', () => null),
    { ok: true, value: decode() },
  );
});

test('a body other than a JSON object is refused as a whole', () => {
  assert.match(mistake(callBody().subarray(1)), /^body: /);
});

test('the credentials are encoded with the names of the wire', () => {
  const issued = { peerId: 'whips://msgvoip?x=1', token: 'a.b.c' };
  const wire = { peer_id: 'whips://msgvoip?x=1', token: 'a.b.c' };
  const mediaUrl = 'wss://media.example:8083';
  assert.deepEqual(JSON.parse(encodeCallCredentials({ ...issued, mediaUrl })), {
    ...wire,
    media_url: mediaUrl,
  });
  assert.deepEqual(JSON.parse(encodeCallCredentials({ ...issued, mediaUrl: null })), wire);
});

function shorten(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 20)}… (${Buffer.byteLength(text)} bytes)`;
}

const room: CallRoom = {
  msgAppId: 'wx0123456789abcdef',
  modelId: 'model_1',
  roomId: 'room-1',
  sessionKey: 'planted-session-key',
  sessionToken: 'planted-session-token',
  payload: 'planted-payload',
};
const deviceId = 'TESTDEVICE01' as DeviceId;
const sessionId = '019c6b5e-7d3f-7000-8000-0123456789ab' as SessionId;

test("a peer id states the call's location and the called device, app id and model id first", () => {
  assert.equal(
    encodePeerId({ room, deviceId, sessionId }, null),
    'whips://msgvoip?x_msg_app_id=wx0123456789abcdef&x_msg_model_id=model_1&x_msg_room_id=room-1' +
      '&x_device_id=TESTDEVICE01&x_session=019c6b5e-7d3f-7000-8000-0123456789ab',
  );
});

const encoded = [
  ['AZaz09-._~', 'AZaz09-._~'],
  [' +&=?#/%:@', '%20%2B%26%3D%3F%23%2F%25%3A%40'],
  ["!'()*", '%21%27%28%29%2A'],
  ['é😀', '%C3%A9%F0%9F%98%80'],
  ['\u0000\u007f"<>', '%00%7F%22%3C%3E'],
] as const;
for (const [text, value] of encoded)
  test(`${JSON.stringify(text)} is encoded in a peer id as ${value}, and decoded unchanged`, () => {
    const call = { room: { ...room, roomId: text }, deviceId: text as DeviceId, sessionId };
    const peerId = encodePeerId(call, null);
    assert.ok(peerId.includes(`&x_msg_room_id=${value}&x_device_id=${value}&x_session=`), peerId);
    const { protocol, host, searchParams } = new URL(peerId);
    assert.deepEqual([protocol, host], ['whips:', 'msgvoip']);
    assert.deepEqual([searchParams.get('x_msg_room_id'), searchParams.get('x_device_id')], [text, text]);
  });

test('the longest possible peer id is far below its bound', () => {
  const call = {
    room: {
      ...room,
      msgAppId: 'a'.repeat(msgIdCharactersMax),
      modelId: 'm'.repeat(msgIdCharactersMax),
      // Every byte is escaped to three characters.
      roomId: '%'.repeat(roomIdBytesMax),
    },
    deviceId: '\u0000'.repeat(deviceIdBytesMax) as DeviceId,
    sessionId: generateSessionId(),
  };
  assert.equal(encodePeerId(call, null).length, 1392);
  const host = 'h'.repeat(253);
  assert.notEqual(parseOrigin(`wss://${host}:65535`), null);
  assert.equal(parseOrigin(`wss://${host}h:65535`), null);
  const longest = encodePeerId(call, `wss://${host}:65535`);
  assert.equal(longest.length, 1674);
  assert.ok(longest.length < peerIdBytesMax);
});

test('a peer id names the media listener last, if configured', () => {
  const peerId = encodePeerId({ room, deviceId, sessionId }, 'wss://[2001:db8::1]:8083');
  assert.ok(peerId.endsWith('&x_media=wss%3A%2F%2F%5B2001%3Adb8%3A%3A1%5D%3A8083'), peerId);
  assert.equal(new URL(peerId).searchParams.get('x_media'), 'wss://[2001:db8::1]:8083');
});
