/** Messages and stored values of members as bytes, written out by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodePeerMessage,
  encodePeerMessage,
  type PeerMessage,
} from '../../src/protocol/cluster/peer-message.ts';
import {
  decodeHeartbeats,
  decodeDeviceRow,
  encodeHeartbeats,
  encodeDeviceRow,
} from '../../src/protocol/cluster/stored-values.ts';
import type { DeviceRow, MemberId } from '../../src/model/cluster.ts';
import type { ApplicationId, DeviceId, RequestId, SessionId } from '../../src/model/ids.ts';
import { hex, list, map, word } from '../support/msgpack-bytes.ts';

const version = hex('01');
const member = 'n/1@a' as MemberId;
const deviceId = 'D1' as DeviceId;
const session = 's1' as SessionId;
const digest = '0f'.repeat(32);
const yes = hex('c3');
const none = hex('c0');
/** 1 763 627 400 000 as a double, and 1 763 627 400 as an integer. */
const stampMs = hex('cb 4279aa0627b40000');
const stampS = hex('ce 691ed188');
const atMs = 1_763_627_400_000;

const slot = { member, node: 'n', session, epoch: 1, loginAtMs: atMs };
const slots = list(
  map(
    ['member', word(member)],
    ['node', word('n')],
    ['session', word('s1')],
    ['epoch', hex('01')],
    ['loginAtMs', stampMs],
  ),
);

const from = ['from', word(member)] as const;

function question(id: string, asked: Buffer): Buffer {
  return map(['kind', word('question')], ['id', hex(id)], from, ['question', asked]);
}

function notice(told: Buffer): Buffer {
  return map(['kind', word('notice')], from, ['notice', told]);
}

const messages: readonly (readonly [PeerMessage, Buffer])[] = [
  [
    { kind: 'question', id: 1, from: member, question: { kind: 'disconnect', deviceId } },
    question('01', map(['kind', word('disconnect')], ['deviceId', word('D1')])),
  ],
  [
    {
      kind: 'question',
      id: 70_000,
      from: member,
      question: { kind: 'write', deviceId, session, customData: Uint8Array.of(0x12, 0xab) },
    },
    question(
      'ce 00 01 11 70',
      map(
        ['kind', word('write')],
        ['deviceId', word('D1')],
        ['session', word('s1')],
        ['customData', hex('c4 02 12 ab')],
      ),
    ),
  ],
  [
    {
      kind: 'question',
      id: 200,
      from: member,
      question: {
        kind: 'wake',
        request: {
          appId: 'A' as ApplicationId,
          deviceId,
          customData: null,
          customDataText: null,
          requestId: 'r 1' as RequestId,
          signature: digest,
          signatureExpiresMs: atMs,
        },
        slots: { sleep: [slot], signal: [] },
      },
    },
    question(
      'cc c8',
      map(
        ['kind', word('wake')],
        [
          'request',
          map(
            ['appId', word('A')],
            ['deviceId', word('D1')],
            ['customData', none],
            ['customDataText', none],
            ['requestId', word('r 1')],
            ['signature', word(digest)],
            ['signatureExpiresMs', stampMs],
          ),
        ],
        ['slots', map(['sleep', slots], ['signal', list()])],
      ),
    ),
  ],
  [
    {
      kind: 'question',
      id: 3,
      from: member,
      question: {
        kind: 'message',
        request: {
          appId: 'A' as ApplicationId,
          deviceId,
          name: 'open',
          payload: { a: [1] },
          signature: digest,
          signatureExpiresMs: atMs,
        },
      },
    },
    question(
      '03',
      map(
        ['kind', word('message')],
        [
          'request',
          map(
            ['appId', word('A')],
            ['deviceId', word('D1')],
            ['name', word('open')],
            ['payload', Buffer.concat([hex('c4 09'), Buffer.from('{"a":[1]}')])],
            ['signature', word(digest)],
            ['signatureExpiresMs', stampMs],
          ),
        ],
      ),
    ),
  ],
  [
    {
      kind: 'answer',
      id: 300,
      to: 'wake',
      answer: { ok: false, error: { code: 42901, message: 'no', retryAfterS: 3 } },
    },
    map(
      ['kind', word('answer')],
      ['id', hex('cd 01 2c')],
      ['to', word('wake')],
      [
        'answer',
        map(
          ['ok', hex('c2')],
          ['error', map(['code', hex('cd a7 95')], ['message', word('no')], ['retryAfterS', hex('03')])],
        ),
      ],
    ),
  ],
  [
    {
      kind: 'answer',
      id: 1,
      to: 'heartbeats',
      answer: [{ sleep: { session, heartbeatAt: 1_763_627_400 }, signal: null }],
    },
    map(
      ['kind', word('answer')],
      ['id', hex('01')],
      ['to', word('heartbeats')],
      [
        'answer',
        list(map(['sleep', map(['session', word('s1')], ['heartbeatAt', stampS])], ['signal', none])),
      ],
    ),
  ],
  [
    { kind: 'notice', from: member, notice: { kind: 'superseded', connection: 'signal', deviceId, session } },
    notice(
      map(
        ['kind', word('superseded')],
        ['connection', word('signal')],
        ['deviceId', word('D1')],
        ['session', word('s1')],
      ),
    ),
  ],
];

for (const [message, payload] of messages)
  test(`the bytes of a ${message.kind} ${JSON.stringify(message).slice(0, 100)}`, () => {
    const bytes = Buffer.concat([version, payload]);
    assert.deepEqual(encodePeerMessage(message), bytes);
    assert.deepEqual(decodePeerMessage(bytes), { ok: true, value: message });
  });

const times = [
  ['lastLoginAt', stampS],
  ['lastHeartbeatAt', none],
  ['lastOfflineAt', none],
] as const;

test('the bytes of a device row', () => {
  const lastTimes = { lastLoginAt: 1_763_627_400, lastHeartbeatAt: null, lastOfflineAt: null };
  const row: DeviceRow = {
    sleep: { epoch: 1, slots: [slot], ...lastTimes },
    signal: { epoch: 0, slots: [], ...lastTimes },
  };
  const bytes = Buffer.concat([
    version,
    map(
      ['deviceId', word('D1')],
      [
        'row',
        map(
          ['sleep', map(['epoch', hex('01')], ['slots', slots], ...times)],
          ['signal', map(['epoch', hex('00')], ['slots', list()], ...times)],
        ),
      ],
    ),
  ]);
  assert.deepEqual(encodeDeviceRow(deviceId, row), bytes);
  assert.deepEqual(decodeDeviceRow(bytes), { ok: true, value: { deviceId, row } });
});

test('the bytes of heartbeats', () => {
  const bytes = Buffer.concat([version, list(list(word('D1'), yes, word('s1'), stampS))]);
  const heartbeats = [{ deviceId, connection: 'signal', session, heartbeatAt: 1_763_627_400 }] as const;
  assert.deepEqual(encodeHeartbeats(heartbeats), bytes);
  assert.deepEqual(decodeHeartbeats(bytes), { ok: true, value: heartbeats });
});
