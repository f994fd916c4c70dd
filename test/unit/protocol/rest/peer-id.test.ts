import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallRoom } from '../../../../src/model/call.ts';
import { generateSessionId, type DeviceId, type SessionId } from '../../../../src/model/ids.ts';
import {
  deviceIdBytesMax,
  msgIdCharactersMax,
  peerIdBytesMax,
  roomIdBytesMax,
} from '../../../../src/model/limits.ts';
import { encodePeerId } from '../../../../src/protocol/rest/peer-id.ts';

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

test('a peer id says where the call is and who is called, the first two first', () => {
  assert.equal(
    encodePeerId({ room, deviceId, sessionId }),
    'whips://msgvoip?x_msg_app_id=wx0123456789abcdef&x_msg_model_id=model_1&x_msg_room_id=room-1' +
      '&x_device_id=TESTDEVICE01&x_session=019c6b5e-7d3f-7000-8000-0123456789ab',
  );
});

test('nothing of a peer id is secret', () => {
  assert.doesNotMatch(encodePeerId({ room, deviceId, sessionId }), /planted/);
});

const encoded = [
  ['AZaz09-._~', 'AZaz09-._~'],
  [' +&=?#/%:@', '%20%2B%26%3D%3F%23%2F%25%3A%40'],
  ["!'()*", '%21%27%28%29%2A'],
  ['é😀', '%C3%A9%F0%9F%98%80'],
  ['\u0000\u007f"<>', '%00%7F%22%3C%3E'],
] as const;
for (const [text, value] of encoded)
  test(`${JSON.stringify(text)} stands in a peer id as ${value}, and is read as it was`, () => {
    const peerId = encodePeerId({ room: { ...room, roomId: text }, deviceId: text as DeviceId, sessionId });
    assert.ok(peerId.includes(`&x_msg_room_id=${value}&x_device_id=${value}&x_session=`), peerId);
    const { protocol, host, searchParams } = new URL(peerId);
    assert.deepEqual([protocol, host], ['whips:', 'msgvoip']);
    assert.deepEqual([searchParams.get('x_msg_room_id'), searchParams.get('x_device_id')], [text, text]);
  });

test('the longest peer id there can be is far below its bound', () => {
  const longest = encodePeerId({
    room: {
      ...room,
      msgAppId: 'a'.repeat(msgIdCharactersMax),
      modelId: 'm'.repeat(msgIdCharactersMax),
      // Every byte is escaped: three characters of it.
      roomId: '%'.repeat(roomIdBytesMax),
    },
    deviceId: '\u0000'.repeat(deviceIdBytesMax) as DeviceId,
    sessionId: generateSessionId(),
  });
  assert.equal(longest.length, 1392);
  assert.ok(longest.length < peerIdBytesMax);
});
