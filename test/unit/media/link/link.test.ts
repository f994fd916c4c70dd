import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import { linkMessageBytesMax } from '../../../../src/model/limits.ts';
import { mediaLanguage, mediaLinkBounds } from '../../../../src/media/link/media-language.ts';
import { Link } from '../../../../src/lib/link/link.ts';
import {
  linkVersion,
  readMediaMessage,
  type MediaMessage,
} from '../../../../src/protocol/media-link/link-message.ts';
import { LoopProgress } from '../../../../src/lib/loop-progress.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { DuplexPair } from '../../../support/duplex-pair.ts';
import { linkFrame } from '../../../support/link-frames.ts';

const hello: MediaMessage = { kind: 'hello', version: linkVersion, instance: 'media-1' };

/** A server's end that hands over what comes, and behind it the sentence about its end, if there is one. */
function serverEnd(pair: DuplexPair, read: (MediaMessage | string)[]): Link<never, MediaMessage> {
  const clock = new DrivenClock();
  return new Link(pair.here, {
    clock,
    progress: new LoopProgress(clock),
    peer: 'the media process',
    bounds: mediaLinkBounds,
    language: mediaLanguage(readMediaMessage),
    received(message) {
      read.push(message);
      return null;
    },
    heartbeat: () => undefined,
    ended(fault) {
      if (fault !== null) read.push(fault.replace(/^the media process /, ''));
    },
  });
}

/** Messages in the order in which the server's end has them, and behind them the fault that cut the link, in words. */
async function readOnce(...chunks: Buffer[]): Promise<(MediaMessage | string)[]> {
  const read: (MediaMessage | string)[] = [];
  const pair = new DuplexPair();
  const link = serverEnd(pair, read);
  pair.there.resume();
  for (const chunk of chunks) pair.there.write(chunk);
  await setImmediate();
  await link.end();
  return read;
}

/** A frame of any bytes. */
function framed(payload: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

test('messages are the same wherever the stream is cut in two', async () => {
  const messages: MediaMessage[] = [
    hello,
    { kind: 'open', leg: 7 },
    { kind: 'admit-device', question: 1, token: 'a'.repeat(300) },
    { kind: 'heartbeat' },
  ];
  const bytes = Buffer.concat(messages.map(linkFrame));
  for (let at = 0; at <= bytes.length; at += 1)
    assert.deepEqual(await readOnce(bytes.subarray(0, at), bytes.subarray(at)), messages);
  assert.deepEqual(await readOnce(...Array.from(bytes, (byte) => Buffer.of(byte))), messages);
});

test('a message is incomplete until its last byte has come', async () => {
  const bytes = linkFrame(hello);
  for (let length = 1; length < bytes.length; length += 1) {
    const pair = new DuplexPair();
    const read: (MediaMessage | string)[] = [];
    serverEnd(pair, read);
    pair.there.end(bytes.subarray(0, length));
    await setImmediate();
    assert.deepEqual(read, ['hung up in the middle of a message']);
  }
  assert.deepEqual(await readOnce(bytes), [hello]);
});

test('a length that no message has is refused before its bytes come', async () => {
  for (const length of [0, linkMessageBytesMax + 1, 0xffff_ffff]) {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length);
    assert.deepEqual(await readOnce(head), [
      `sent a message of ${length} bytes, where 1 to ${linkMessageBytesMax} are in order`,
    ]);
  }
});

test('the first message is a hello of our version, and no other one is', async () => {
  const stranger = 'does not speak the language of the link';
  assert.deepEqual(await readOnce(linkFrame({ kind: 'heartbeat' })), [stranger]);
  assert.deepEqual(await readOnce(Buffer.from('GET / HTTP/1.1\r\n\r\n')), [
    `sent a message of 1195725856 bytes, where 1 to ${linkMessageBytesMax} are in order`,
  ]);
  assert.deepEqual(await readOnce(linkFrame({ kind: 'hello', version: 99, what: ['ever'] })), [
    `speaks version 99 of the link, and this end version ${linkVersion}: run the same release on both`,
  ]);
  assert.deepEqual(await readOnce(linkFrame(hello), linkFrame(hello)), [hello, 'said hello twice']);
});

const packr = new Packr({ useRecords: false });
const hostile: Record<string, Buffer> = {
  'a list that says it has four thousand million members': Buffer.of(0xdd, 0xff, 0xff, 0xff, 0xff),
  'lists within lists': Buffer.alloc(100_000, 0x91),
  'lists of many lists': Buffer.alloc(100_000, 0x9f),
  'a regular expression': packr.pack(/(a+)+$/),
  'a set': packr.pack(new Set([1])),
  'a date': packr.pack(new Date(0)),
  'a text that is cut off': Buffer.of(0xd9, 0xff, 0x61),
  'a text without its length': Buffer.of(0xdb, 0x00),
  'a number that is cut off': Buffer.of(0xcf, 0x00),
  'two values': Buffer.of(0xc0, 0xc0),
  'a type that is none': Buffer.of(0xc1),
  'no object': packr.pack('hello'),
  'an object of another kind': packr.pack({ kind: 'reload-tls' }),
  'an object of no kind': packr.pack({}),
  'a field too much': packr.pack({ kind: 'open', leg: 1, more: 1 }),
  'a field too few': packr.pack({ kind: 'open' }),
  'a leg that is no number': packr.pack({ kind: 'open', leg: '1' }),
  'a leg that is not whole': packr.pack({ kind: 'open', leg: 1.5 }),
  'a leg that is not finite': packr.pack({ kind: 'open', leg: Infinity }),
  'a leg beyond what is counted': packr.pack({ kind: 'open', leg: 2n ** 63n }),
  'a sign of life that is none': packr.pack({ kind: 'alive', leg: 1, by: 'luck' }),
  'a text that is too long': packr.pack({ kind: 'admit-viewer', question: 1, ticket: 'x'.repeat(100_000) }),
  'a negative count': packr.pack({
    kind: 'tally',
    tally: { logins: [], frames: [['encoded', -1]], rebuilds: 0, frameSeconds: [] },
  }),
  'a prototype': packr.pack(JSON.parse('{"__proto__":{"kind":"open","leg":1}}')),
};

for (const [name, payload] of Object.entries(hostile))
  test(`${name} is no message`, async () => {
    const [greeting, fault, ...rest] = await readOnce(linkFrame(hello), framed(payload));
    assert.deepEqual([greeting, rest], [hello, []]);
    assert.equal(typeof fault, 'string');
  });
