import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signalMediaBytesMax } from '../../../../src/model/limits.ts';
import {
  decodeControllerMessage,
  type SignalPhase,
} from '../../../../src/protocol/signal/controller-message.ts';

const mac = '0123456789abcdef'.repeat(4);

function kindOf(text: string | Buffer, phase: SignalPhase, isBinary = false): string {
  return decodeControllerMessage(Buffer.from(text), isBinary, phase).kind;
}

function login(fields: object): string {
  return JSON.stringify({ type: 'login', device_id: 'D', mac, ...fields });
}

const logins: readonly (readonly [string, string, 'login' | 'invalid'])[] = [
  ['the least', login({}), 'login'],
  ['unknown fields', login({ version: 2, x: [null] }), 'login'],
  ['an id of 255 bytes', login({ device_id: 'ä'.repeat(127) + 'x' }), 'login'],
  ['an id of 256 bytes', login({ device_id: 'ä'.repeat(128) }), 'invalid'],
  ['no id', login({ device_id: undefined }), 'invalid'],
  ['an empty id', login({ device_id: '' }), 'invalid'],
  ['a number for an id', login({ device_id: 1 }), 'invalid'],
  ['a lone surrogate in the id', login({ device_id: 'D' }).replace('"D"', '"\\ud800"'), 'invalid'],
  ['a lone surrogate elsewhere', login({ x: 1 }).replace(':1', ':"\\udc00"'), 'invalid'],
  ['no mac', login({ mac: undefined }), 'invalid'],
  ['a mac in capitals', login({ mac: mac.toUpperCase() }), 'invalid'],
  ['a mac of 63 digits', login({ mac: mac.slice(1) }), 'invalid'],
  ['a mac of 65 digits', login({ mac: `${mac}0` }), 'invalid'],
  ['a mac and a line end', login({ mac: `${mac}\n` }), 'invalid'],
  ['a mac in a list', login({ mac: [mac] }), 'invalid'],
  ['empty media', login({ media: {} }), 'login'],
  ['media of 2048 bytes', login({ media: { x: 'ä'.repeat(1020) } }), 'login'],
  ['media of 2049 bytes', login({ media: { x: `${'ä'.repeat(1020)}y` } }), 'invalid'],
  ['media in a list', login({ media: [] }), 'invalid'],
  ['media of null', login({ media: null }), 'invalid'],
  ['media in a string', login({ media: '{}' }), 'invalid'],
  ['a type of another case', login({ type: 'Login' }), 'invalid'],
  ['a byte order mark', `\ufeff${login({})}`, 'invalid'],
  ['something behind it', `${login({})} x`, 'invalid'],
  ['space around it', ` \r\n${login({})}\t`, 'login'],
];
for (const [name, text, kind] of logins)
  test(`a login with ${name} is ${kind === 'login' ? 'one' : 'malformed'}`, () => {
    assert.equal(kindOf(text, 'login'), kind);
  });

test('media is kept unchanged, whatever its keys', () => {
  const text = login({}).replace('}', ',"media":{"__proto__":{"x":1},"toString":2}}');
  const message = decodeControllerMessage(Buffer.from(text), false, 'login');
  assert(message.kind === 'login');
  assert.equal(JSON.stringify(message.login.media), '{"__proto__":{"x":1},"toString":2}');
});

test('media nested as deep as its bytes allow is accepted, and one level more is not', () => {
  const kindNested = (depth: number): string => {
    const nested = '['.repeat(depth) + ']'.repeat(depth);
    return kindOf(login({}).replace('}', `,"media":{"x":${nested}}}`), 'login');
  };
  const depthMax = (signalMediaBytesMax - '{"x":}'.length) / 2;
  assert.deepEqual([kindNested(depthMax), kindNested(depthMax + 1)], ['login', 'invalid']);
});

test('media nested as deep as a message can hold is malformed and overflows nothing', () => {
  const nested = '['.repeat(8000) + ']'.repeat(8000);
  assert.equal(kindOf(login({}).replace('}', `,"media":{"x":${nested}}}`), 'login'), 'invalid');
});

test('each message is known in its phase only; bye in both', () => {
  const inSession = [
    '{"type":"heartbeat"}',
    '{"heartbeat":1,"type":"heartbeat"}',
    '{"type":"ack","id":""}',
    '{"type":"wake_report","cause":"event"}',
  ];
  for (const text of inSession) {
    assert.equal(kindOf(text, 'login'), 'invalid', text);
    assert.notEqual(kindOf(text, 'session'), 'invalid', text);
  }
  assert.equal(kindOf(login({}), 'session'), 'invalid');
  for (const phase of ['login', 'session'] as const) {
    assert.equal(kindOf('{"type":"bye","reason":""}', phase), 'bye');
    assert.equal(kindOf('{"type":"bye"}', phase), 'invalid');
    for (const type of ['challenge', 'welcome', 'heartbeat_ack', 'message', 'constructor', '__proto__'])
      assert.equal(kindOf(JSON.stringify({ type }), phase), 'invalid', type);
  }
});

const malformed: readonly (string | Buffer)[] = [
  '',
  ' ',
  'null',
  '1',
  '"heartbeat"',
  '[{"type":"heartbeat"}]',
  '{"type":["heartbeat"]}',
  '{"type":"heartbeat"',
  "{'type':'heartbeat'}",
  '{"type":"heartbeat"}{"type":"heartbeat"}',
  Buffer.from([0x7b, 0xff, 0x7d]),
  '{"type":"ack"}',
  '{"type":"ack","id":null}',
  '{"type":"wake_report"}',
  '{"type":"wake_report","cause":"Remote"}',
  '{"type":"wake_report","cause":"remote","request_id":null}',
  '{"type":"wake_report","cause":"remote","request_id":""}',
  '{"type":"wake_report","cause":"remote","request_id":"ä"}',
  `{"type":"wake_report","cause":"remote","request_id":"${'x'.repeat(129)}"}`,
];
for (const text of malformed)
  test(`malformed in a session: ${JSON.stringify(text.toString()).slice(0, 70)}`, () => {
    assert.equal(kindOf(text, 'session'), 'invalid');
  });
