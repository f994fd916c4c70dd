/** The bytes of a sleep login, built by hand from sleep-wire.md instead of the code under test, and cut at every offset. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import type { SleepLogin } from '../../src/model/sleep.ts';
import {
  encodeLoginLine,
  LoginLineDecoder,
  type LoginLineStep,
  computeLoginMac,
} from '../../src/protocol/sleep/login-line.ts';
import { encodeWakePacket } from '../../src/protocol/sleep/wake-packet.ts';

const sessionKey = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ012345';
const secret = 'device-secret';
const covered = `RVL1\n${sessionKey}\nVEVTVERFVklDRTAx\ncustom\n50\n1`;
/** By `openssl dgst -sha256 -hmac device-secret` over `covered`. */
const goldenMac = '3dc10a6a8b72ce8817a7b9e760a377e5504ee1a4c705c0f478298640c14550fe';
const goldenLine = `RVL1 VEVTVERFVklDRTAx custom 50 1 ${goldenMac}\n`;

function decode(...chunks: readonly (Buffer | string)[]): LoginLineStep {
  const decoder = new LoginLineDecoder();
  let step: LoginLineStep = { kind: 'incomplete' };
  for (const chunk of chunks) {
    step = decoder.feed(typeof chunk === 'string' ? Buffer.from(chunk, 'latin1') : chunk);
    if (step.kind !== 'incomplete') break;
  }
  return step;
}

function loginOf(step: LoginLineStep): SleepLogin {
  assert(step.kind === 'login', `expected a login, not ${step.kind}`);
  return step.login;
}

const builder = { id: 'VEVTVERFVklDRTAx', wake: 'custom', heartbeat: '50', reply: '1', mac: goldenMac };

/** The independent builder: fields as on the wire. */
function line(fields: Partial<typeof builder> = {}): string {
  const { id, wake, heartbeat, reply, mac } = { ...builder, ...fields };
  return `RVL1 ${id} ${wake} ${heartbeat} ${reply} ${mac}\n`;
}

test('the login line of the documented device is these bytes', () => {
  const credentials = {
    deviceId: 'TESTDEVICE01',
    secret,
    wakeMode: 'custom',
    heartbeatSeconds: 50,
    wantsReply: true,
  } as const;
  assert.equal(encodeLoginLine(credentials, sessionKey), goldenLine);
});

test('the mac covers the version, the session key and every field before it, each on its own line', () => {
  const signedText = 'RVL1 VEVTVERFVklDRTAx custom 50 1';
  assert.equal(computeLoginMac(secret, sessionKey, signedText).toString('hex'), goldenMac);
  assert.equal(createHmac('sha256', secret).update(covered).digest('hex'), goldenMac);
});

const openssl = spawnSync('openssl', ['version']).status === 0;
test('openssl computes the same mac', { skip: openssl ? false : 'no openssl here' }, () => {
  const output = execFileSync('openssl', ['dgst', '-sha256', '-hmac', secret], {
    input: covered,
    encoding: 'utf8',
  });
  assert.match(output, new RegExp(`${goldenMac}\\s*$`));
});

test('every field of a login line is read', () => {
  assert.deepEqual(loginOf(decode(goldenLine)), {
    deviceId: 'TESTDEVICE01',
    wakeMode: 'custom',
    heartbeatSeconds: 50,
    wantsReply: true,
    mac: Buffer.from(goldenMac, 'hex'),
    signedText: 'RVL1 VEVTVERFVklDRTAx custom 50 1',
  });
});

test('a line cut at any offset is the same login with the same bytes after it', () => {
  const bytes = Buffer.from(`${goldenLine}heartbeat`, 'latin1');
  const whole = decode(bytes);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const step = decode(bytes.subarray(0, cut), bytes.subarray(cut));
    assert.deepEqual(loginOf(step), loginOf(whole), `cut at ${cut}`);
    const restBytes = step.kind === 'login' ? step.rest.length : -1;
    assert.equal(restBytes, cut < goldenLine.length ? 9 : cut - goldenLine.length, `cut at ${cut}`);
  }
});

test('CR LF ends a line as LF does', () => {
  assert.deepEqual(loginOf(decode(goldenLine.replace('\n', '\r\n'))), loginOf(decode(goldenLine)));
});

const malformed: readonly [string, string, boolean][] = [
  ['another version', line().replace('RVL1', 'RVL2'), true],
  ['an unknown wake mode', line({ wake: 'never' }), true],
  ['a wake mode in capitals', line({ wake: 'FIXED' }), true],
  ['a heartbeat of 4 s', line({ heartbeat: '4' }), true],
  ['a heartbeat of 3601 s', line({ heartbeat: '3601' }), true],
  ['a heartbeat with a leading zero', line({ heartbeat: '050' }), true],
  ['a heartbeat with a sign', line({ heartbeat: '+50' }), true],
  ['a heartbeat that is no number', line({ heartbeat: '5e1' }), true],
  ['a mac in capitals', line({ mac: goldenMac.toUpperCase() }), true],
  ['a mac of 63 digits', line({ mac: goldenMac.slice(1) }), true],
  ['a mac of 65 digits', line({ mac: `${goldenMac}0` }), true],
  ['no device id', line({ id: '' }), true],
  ['a padded device id', line({ id: 'YQ==' }), true],
  ['a device id with stray bits', line({ id: 'YR' }), true],
  ['a device id of an impossible length', line({ id: 'YWFhY' }), true],
  ['a device id in plain base64', line({ id: 'Pz8/Pz8/' }), true],
  ['a device id that is not UTF-8', line({ id: Buffer.from([0xff, 0xfe]).toString('base64url') }), true],
  ['a device id with a surrogate', line({ id: Buffer.from([0xed, 0xa0, 0x80]).toString('base64url') }), true],
  ['a device id of 256 bytes', line({ id: Buffer.alloc(256, 'a').toString('base64url') }), true],
  ['a seventh field', line().replace('\n', ' more\n'), true],
  ['a space at the end', line().replace('\n', ' \n'), true],
  ['two CRs', line().replace('\n', '\r\r\n'), true],
  ['a line that ends with the reply', 'RVL1 YQ custom 50 1\n', true],
  ['a reply of 0 and another fault', line({ reply: '0', mac: '' }), false],
  ['a reply of 2', line({ reply: '2' }), false],
  ['two spaces', line().replace(' custom', '  custom'), false],
  ['tabs for spaces', line().replaceAll(' ', '\t'), false],
  ['an empty line', '\n', false],
  ['HTTP', 'GET / HTTP/1.1\r\n', false],
];
for (const [name, bytes, wantsReply] of malformed)
  test(`${name} is malformed, and ERR is ${wantsReply ? '' : 'not '}sent`, () => {
    assert.deepEqual(decode(bytes), { kind: 'invalid', wantsReply });
  });

const wellFormed: readonly [string, Partial<typeof builder>, Record<string, unknown>][] = [
  ['the shortest heartbeat', { heartbeat: '5' }, { heartbeatSeconds: 5 }],
  ['the longest heartbeat', { heartbeat: '3600' }, { heartbeatSeconds: 3600 }],
  ['a module that matches the fixed packet only', { wake: 'fixed' }, { wakeMode: 'fixed' }],
  ['a module that cannot be woken', { wake: 'none' }, { wakeMode: 'none' }],
  ['firmware that must be left in peace', { reply: '0' }, { wantsReply: false }],
  ['a device id of 1 byte', { id: 'YQ' }, { deviceId: 'a' }],
  [
    'a device id of 255 bytes',
    { id: Buffer.alloc(255, 'a').toString('base64url') },
    { deviceId: 'a'.repeat(255) },
  ],
  [
    'a device id with a BOM, a NUL and an emoji',
    { id: Buffer.from('\ufeff\0😀', 'utf8').toString('base64url') },
    { deviceId: '\ufeff\0😀' },
  ],
];
for (const [name, fields, expected] of wellFormed)
  test(`${name} is a login`, () => {
    const login = loginOf(decode(line(fields)));
    assert.deepEqual({ ...login, ...expected }, login);
  });

test('1024 bytes may still be waiting for their LF, one more may not', () => {
  assert.deepEqual(decode('a'.repeat(1024)), { kind: 'incomplete' });
  assert.deepEqual(decode('a'.repeat(1025)), { kind: 'invalid', wantsReply: false });
  assert.deepEqual(decode('a'.repeat(1024), '\n'), { kind: 'invalid', wantsReply: false });
});

test('a line over the limit is answered when its reply field is inside the limit', () => {
  assert.deepEqual(decode(`RVL1 YQ custom 50 1 ${'a'.repeat(2000)}\n`), {
    kind: 'invalid',
    wantsReply: true,
  });
  assert.deepEqual(decode(`RVL1 ${'a'.repeat(2000)} custom 50 1 ${goldenMac}\n`), {
    kind: 'invalid',
    wantsReply: false,
  });
});

test('the reply field of an unfinished line counts once the space after it has arrived', () => {
  const decoder = new LoginLineDecoder();
  assert.equal(decoder.wantsReply, false);
  decoder.feed(Buffer.from('RVL1 YQ custom 50 1'));
  assert.equal(decoder.wantsReply, false);
  decoder.feed(Buffer.from(' '));
  assert.equal(decoder.wantsReply, true);
});

test('the wake packet is the pattern and two bytes', () => {
  assert.equal(encodeWakePacket(null).toString('hex'), '983b16f8f39c0000');
  assert.equal(encodeWakePacket(Buffer.from([0x12, 0xab])).toString('hex'), '983b16f8f39c12ab');
});
