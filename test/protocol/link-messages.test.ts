/** Messages of the link as bytes, written out by another hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionId } from '../../src/model/ids.ts';
import {
  readMediaMessage,
  readServerMessage,
  type MediaMessage,
  type ServerMessage,
} from '../../src/protocol/media-link/link-message.ts';
import { linkFrame, LinkFrames } from '../support/link-frames.ts';
import { hex, map, word } from '../support/msgpack-bytes.ts';

function framed(payload: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

const helloOfMedia = framed(map(['kind', word('hello')], ['version', hex('01')]));
const secret = '11'.repeat(32);
const tokenKeys = Buffer.concat([hex('91'), map(['kid', word('1a')], ['secret', hex(`c4 20 ${secret}`)])]);
const helloOfServer = framed(map(['kind', word('hello')], ['version', hex('01')], ['tokenKeys', tokenKeys]));

const fromMedia: readonly (readonly [MediaMessage, Buffer])[] = [
  [{ kind: 'heartbeat' }, map(['kind', word('heartbeat')])],
  [
    { kind: 'alive', leg: 7, by: 'media' },
    map(['kind', word('alive')], ['leg', hex('07')], ['by', word('media')]),
  ],
  [
    { kind: 'answer', leg: 70_000, accepted: true },
    map(['kind', word('answer')], ['leg', hex('ce 00 01 11 70')], ['accepted', hex('c3')]),
  ],
  [
    { kind: 'viewed', question: 1, view: null },
    map(['kind', word('viewed')], ['question', hex('01')], ['view', hex('c0')]),
  ],
  [
    { kind: 'tls-reloaded', question: 5, problem: null },
    map(['kind', word('tls-reloaded')], ['question', hex('05')], ['problem', hex('c0')]),
  ],
  [
    {
      kind: 'tally',
      tally: { logins: [['accepted', 2]], frames: [['encoded', 15]], rebuilds: 0, frameSeconds: [0.5] },
    },
    map(
      ['kind', word('tally')],
      [
        'tally',
        map(
          ['logins', Buffer.concat([hex('91 92'), word('accepted'), hex('02')])],
          ['frames', Buffer.concat([hex('91 92'), word('encoded'), hex('0f')])],
          ['rebuilds', hex('00')],
          ['frameSeconds', hex('91 cb 3fe0000000000000')],
        ),
      ],
    ),
  ],
];

const fromServer: readonly (readonly [ServerMessage, Buffer])[] = [
  [
    { kind: 'close', leg: 300, reason: 'ended' },
    map(['kind', word('close')], ['leg', hex('cd 01 2c')], ['reason', word('ended')]),
  ],
  [
    {
      kind: 'tell',
      leg: 1,
      message: { kind: 'state', sessionId: 's1' as SessionId, state: 'ringing', reason: null },
    },
    map(
      ['kind', word('tell')],
      ['leg', hex('01')],
      [
        'message',
        map(
          ['kind', word('state')],
          ['sessionId', word('s1')],
          ['state', word('ringing')],
          ['reason', hex('c0')],
        ),
      ],
    ),
  ],
  [
    { kind: 'view', question: 200, sessionId: 's1' as SessionId },
    map(['kind', word('view')], ['question', hex('cc c8')], ['sessionId', word('s1')]),
  ],
  [{ kind: 'reload-tls', question: 5 }, map(['kind', word('reload-tls')], ['question', hex('05')])],
];

test('the first message each way has the version of the link', () => {
  assert.deepEqual(linkFrame({ kind: 'hello', version: 1 }), helloOfMedia);
  const keys = [{ kid: '1a', secret: Buffer.from(secret, 'hex') }];
  assert.deepEqual(linkFrame({ kind: 'hello', version: 1, tokenKeys: keys }), helloOfServer);
  assert.equal(helloOfMedia.toString('hex', 0, 8), '00000017de0002a4');
});

for (const [message, payload] of fromMedia)
  test(`the media process says ${message.kind}`, () => {
    assert.deepEqual(linkFrame(message), framed(payload));
    const reader = new LinkFrames(readMediaMessage);
    const [, read] = reader.feed(Buffer.concat([helloOfMedia, framed(payload)]));
    assert.deepEqual(read, { ok: true, value: message });
  });

for (const [message, payload] of fromServer)
  test(`the server says ${message.kind}`, () => {
    assert.deepEqual(linkFrame(message), framed(payload));
    const reader = new LinkFrames(readServerMessage);
    const [, read] = reader.feed(Buffer.concat([helloOfServer, framed(payload)]));
    assert.deepEqual(read, { ok: true, value: message });
  });
