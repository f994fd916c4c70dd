/** Every message of the signal protocol, byte for byte, and every close code. Source: signal-wire.md. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import type { MessageId } from '../../src/model/ids.ts';
import {
  signalCloses,
  encodeBye,
  encodeChallenge,
  encodeHeartbeatAck,
  encodeMessage,
  encodeWelcome,
  type Welcome,
} from '../../src/protocol/signal/server-message.ts';
import { decodeControllerMessage, computeSignalMac } from '../../src/protocol/signal/controller-message.ts';

const sessionKey = 'kD4pAqYc0mFv_7Zt-2hXw9BnJr1sQeLu';

test('the mac of a login covers the text of the page', () => {
  const [id, idField] = ['Gerät-😀', 'R2Vyw6R0LfCfmIA'];
  const page = createHmac('sha256', 'device-secret').update(
    ['RVS1', sessionKey, idField].map((line) => Buffer.from(line, 'ascii')).join('\n'),
  );
  assert.deepEqual(computeSignalMac('device-secret', sessionKey, id), page.digest());
});

/** printf 'RVS1\n<session key>\nVEVTVERFVklDRTAx' | openssl dgst -sha256 -hmac device-secret */
const macHex = '288bb9b317e0edf6f6ccd1aab851949ce9a40da0fc6c9c333d7e0731a1013f42';

test('the mac equals that of another program', () => {
  assert.equal(computeSignalMac('device-secret', sessionKey, 'TESTDEVICE01').toString('hex'), macHex);
});

test('a login message is decoded', () => {
  const text = `{"type":"login","device_id":"TESTDEVICE01","mac":"${macHex}","media":{"video":["h264"]}}`;
  assert.deepEqual(decodeControllerMessage(Buffer.from(text), false, 'login'), {
    kind: 'login',
    login: { deviceId: 'TESTDEVICE01', mac: Buffer.from(macHex, 'hex'), media: { video: ['h264'] } },
  });
});

test('the messages of a session are decoded', () => {
  const messages: readonly (readonly [string, object])[] = [
    ['{"type":"heartbeat"}', { kind: 'heartbeat' }],
    [
      '{"type":"wake_report","cause":"remote","request_id":"r-1"}',
      { kind: 'wake-report', report: { cause: 'remote', requestId: 'r-1' } },
    ],
    [
      '{"type":"wake_report","cause":"event"}',
      { kind: 'wake-report', report: { cause: 'event', requestId: null } },
    ],
    [
      '{"type":"wake_report","cause":"abnormal"}',
      { kind: 'wake-report', report: { cause: 'abnormal', requestId: null } },
    ],
    ['{"type":"ack","id":"m-1"}', { kind: 'ack', id: 'm-1' }],
    ['{"type":"bye","reason":"sleep"}', { kind: 'bye' }],
  ];
  for (const [text, message] of messages)
    assert.deepEqual(decodeControllerMessage(Buffer.from(text), false, 'session'), message, text);
});

test('the messages of the server are encoded', () => {
  assert.equal(encodeChallenge(sessionKey), `{"type":"challenge","session_key":"${sessionKey}"}`);
  const welcome: Welcome = {
    epoch: 7,
    heartbeat_s: 30,
    server_time: 1795163400,
    sleep: {
      servers: ['sleep.example:8081', '[2001:db8::1]:8081'],
      heartbeat_s: 50,
      heartbeat_bytes: 64,
      wake_pattern: '983b16f8f39c',
      wakeup_packet: '983b16f8f39c0000',
      retry: { min_s: 2, max_s: 300, jitter: 0.5 },
    },
  };
  const said =
    '{"type":"welcome","epoch":7,"heartbeat_s":30,"server_time":1795163400,"sleep":{"servers":["sleep.example:8081",' +
    '"[2001:db8::1]:8081"],"heartbeat_s":50,"heartbeat_bytes":64,"wake_pattern":"983b16f8f39c",' +
    '"wakeup_packet":"983b16f8f39c0000","retry":{"min_s":2,"max_s":300,"jitter":0.5}}';
  assert.equal(encodeWelcome(welcome), `${said}}`);
  const media = { url: 'wss://media.example:8083' };
  assert.equal(encodeWelcome({ ...welcome, media }), `${said},"media":{"url":"wss://media.example:8083"}}`);
  for (const seconds of [1795163400, 1795163400, 1795163401, 1795163400])
    assert.equal(encodeHeartbeatAck(seconds), `{"type":"heartbeat_ack","server_time":${seconds}}`);
  assert.equal(
    encodeMessage({ id: 'm-1' as MessageId, name: 'msga_join_voip_room', payload: { room: 'ä"' } }),
    '{"type":"message","id":"m-1","name":"msga_join_voip_room","payload":{"room":"ä\\""}}',
  );
  assert.equal(encodeBye('draining'), '{"type":"bye","reason":"draining"}');
});

test('the close codes and their words are those of the page', () => {
  assert.deepEqual(
    Object.values(signalCloses).map(({ code, reason }) => `${code} ${reason}`),
    [
      '1000 bye',
      '1009 too_large',
      '4400 malformed',
      '4401 denied',
      '4408 timeout',
      '4408 heartbeat_timeout',
      '4409 replaced',
      '4410 kicked',
      '4429 flood',
      '4503 draining',
      '4503 busy',
    ],
  );
});
