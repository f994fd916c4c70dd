/** Messages between an edge and its core as bytes, written out by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import { decodeCoreMessage, decodeEdgeMessage } from '../../src/protocol/edge-link/edge-codec.ts';
import { encodeCoreMessage, encodeEdgeMessage } from '../../src/protocol/edge-link/edge-codec.ts';
import { decodeCoreHello, decodeEdgeHello } from '../../src/protocol/edge-link/edge-greeting.ts';
import type { CoreMessage, SentByEdge } from '../../src/protocol/edge-link/edge-message.ts';
import { hex, list, map, word } from '../support/msgpack-bytes.ts';

const none = hex('c0');
const sessionId = 's1' as SessionId;

const fromEdge: readonly (readonly [Exclude<SentByEdge, { kind: 'hello' }>, Buffer])[] = [
  [{ kind: 'heartbeat' }, list(hex('00'))],
  [
    {
      kind: 'admit',
      number: 70_000,
      line: 'RVL1 line',
      sessionKey: 'key',
      hasRoom: true,
      address: '192.0.2.1',
    },
    list(hex('01'), hex('ce 00 01 11 70'), word('RVL1 line'), word('key'), hex('c3'), word('192.0.2.1')),
  ],
  [
    { kind: 'ended', number: 7, reason: 'heartbeat_timeout', lastHeartbeatAt: 1_800_000_000 },
    list(hex('02'), hex('07'), word('heartbeat_timeout'), hex('ce 6b 49 d2 00')),
  ],
  [
    { kind: 'heartbeats', at: 1_800_000_000, numbers: Uint32Array.of(1, 0xffff_fffe) },
    list(hex('03'), hex('ce 6b 49 d2 00'), hex('c4 08 01 00 00 00 fe ff ff ff')),
  ],
  [{ kind: 'woken', ask: 300, result: 'written' }, list(hex('04'), hex('cd 01 2c'), word('written'))],
  [{ kind: 'counts', sockets: 200 }, list(hex('05'), hex('cc c8'))],
  [
    {
      kind: 'tally',
      logins: [['accepted', 2]],
      ends: [['reset', 1]],
      wakeupWriteSeconds: [0.5],
    },
    list(
      hex('06'),
      list(list(word('accepted'), hex('02'))),
      list(list(word('reset'), hex('01'))),
      list(hex('cb 3fe0000000000000')),
    ),
  ],
  [
    { kind: 'log', level: 'warn', fields: '{}', message: 'slow' },
    list(hex('07'), word('warn'), word('{}'), word('slow')),
  ],
  [{ kind: 'drained', ask: 1, left: 5 }, list(hex('08'), hex('01'), hex('05'))],
  [{ kind: 'tls-reloaded', ask: 1, problem: null }, list(hex('09'), hex('01'), none)],
  [{ kind: 'listening', host: '::', port: 8081 }, list(hex('0a'), word('::'), hex('cd 1f 91'))],
  [
    {
      kind: 'bring',
      sessions: [
        {
          number: 7,
          deviceId: 'D1' as DeviceId,
          sessionId,
          epoch: 3,
          wakeMode: 'fixed',
          secretMark: -2,
          lastHeartbeatAt: 0,
          endedBy: null,
        },
      ],
    },
    list(
      hex('0b'),
      list(list(hex('07'), word('D1'), word('s1'), hex('03'), word('fixed'), hex('fe'), hex('00'), none)),
    ),
  ],
  [{ kind: 'brought' }, list(hex('0c'))],
  [{ kind: 'probed' }, list(hex('0d'))],
];

const fromCore: readonly (readonly [Exclude<CoreMessage, { kind: 'hello' | 'declined' }>, Buffer])[] = [
  [{ kind: 'heartbeat' }, list(hex('00'))],
  [
    { kind: 'admitted', number: 7, sessionId, epoch: 3, secretMark: -2 },
    list(hex('01'), hex('07'), word('s1'), hex('03'), hex('fe')),
  ],
  [{ kind: 'refused', number: 7, refusal: 'denied' }, list(hex('02'), hex('07'), word('denied'))],
  [
    { kind: 'wake', number: 7, ask: 300, customData: Buffer.of(0x12, 0xab) },
    list(hex('03'), hex('07'), hex('cd 01 2c'), hex('c4 02 12 ab')),
  ],
  [{ kind: 'wake', number: 7, ask: 1, customData: null }, list(hex('03'), hex('07'), hex('01'), none)],
  [{ kind: 'close', number: 7, reason: 'replaced' }, list(hex('04'), hex('07'), word('replaced'))],
  [
    { kind: 'drain', ask: 1, perSecond: 500, deadlineMs: 30_000 },
    list(hex('05'), hex('01'), hex('cd 01 f4'), hex('cd 75 30')),
  ],
  [{ kind: 'reload-tls', ask: 1 }, list(hex('06'), hex('01'))],
  [{ kind: 'probe' }, list(hex('07'))],
];

for (const [message, bytes] of fromEdge)
  test(`the edge sends ${message.kind}`, () => {
    assert.deepEqual(encodeEdgeMessage(message), bytes);
    for (const isOwn of [true, false])
      assert.deepEqual(decodeEdgeMessage(bytes, isOwn), { ok: true, value: message });
  });

for (const [message, bytes] of fromCore)
  test(`the core sends ${message.kind}`, () => {
    assert.deepEqual(encodeCoreMessage(message), bytes);
    assert.deepEqual(decodeCoreMessage(bytes), { ok: true, value: message });
  });

const address = map(['host', word('::')], ['port', hex('cd 1f 91')]);

test('the edge greets with its version and its description', () => {
  const hello = {
    kind: 'hello',
    version: 1,
    name: 'edge-1',
    instance: 'i1',
    release: '1.2.3',
    pid: 1,
    address: { host: '::', port: 8081 },
    advertise: ['a:1'],
    maxSessions: 5,
  } as const;
  const bytes = map(
    ['kind', word('hello')],
    ['version', hex('01')],
    ['name', word('edge-1')],
    ['instance', word('i1')],
    ['release', word('1.2.3')],
    ['pid', hex('01')],
    ['address', address],
    ['advertise', list(word('a:1'))],
    ['maxSessions', hex('05')],
  );
  assert.deepEqual(encodeEdgeMessage(hello), bytes);
  assert.deepEqual(decodeEdgeHello(bytes), { ok: true, value: hello });
});

test('the core answers with its version and release, or declines with a sentence', () => {
  const hello = { kind: 'hello', version: 1, release: '1.2.3' } as const;
  const helloBytes = map(['kind', word('hello')], ['version', hex('01')], ['release', word('1.2.3')]);
  assert.deepEqual(encodeCoreMessage(hello), helloBytes);
  assert.deepEqual(decodeCoreHello(helloBytes), { ok: true, value: hello });
  const declined = { kind: 'declined', version: 2, sentence: 'no' } as const;
  const declinedBytes = map(['kind', word('declined')], ['version', hex('02')], ['sentence', word('no')]);
  assert.deepEqual(encodeCoreMessage(declined), declinedBytes);
  assert.deepEqual(decodeCoreHello(declinedBytes), { ok: true, value: declined });
});

const wrongFromEdge: readonly Buffer[] = [
  list(hex('00'), none),
  list(hex('01'), hex('07')),
  list(hex('02'), hex('07'), word('bored'), hex('00')),
  list(hex('02'), hex('ff'), word('reset'), hex('00')),
  list(hex('03'), hex('00'), hex('c4 03 01 00 00')),
  list(hex('03'), hex('00'), list(hex('01'))),
  list(hex('04'), hex('01'), word('unreachable')),
  list(hex('05')),
  list(hex('06'), list(list(word('accepted'), hex('ce 00 01 86 a1'))), list(), list()),
  list(hex('06'), list(), list(), list(hex('cb ffe0000000000000'))),
  list(hex('06'), list(), list(), list(hex('cb 7ff8000000000000'))),
  list(hex('0a'), word('a b'), hex('01')),
  list(hex('0b'), list(list(hex('07')))),
  list(hex('0b'), list(hex('07'))),
  list(hex('0e')),
  list(),
  list(word('heartbeat')),
  list(hex('00')).subarray(0, 0),
  hex('c0'),
];

for (const bytes of wrongFromEdge)
  test(`the core does not read ${bytes.toString('hex') || 'nothing'} as a message`, () => {
    assert.equal(decodeEdgeMessage(bytes, false).ok, false);
    assert.equal(decodeEdgeMessage(bytes, true).ok, false);
  });
