import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeLengthFrame, LengthFrameDecoder } from '../../../src/lib/link/length-frame.ts';

const payloads = [Buffer.from('a'), Buffer.from('bc'.repeat(150)), Buffer.from('d')];
const bytes = Buffer.concat(payloads.map(encodeLengthFrame));

function read(...chunks: Buffer[]): unknown[] {
  const decoder = new LengthFrameDecoder(300);
  return chunks.flatMap((chunk) => [...decoder.feed(chunk)]);
}

test('payloads are the same wherever the stream is cut', () => {
  const whole = payloads.map((payload) => ({ kind: 'payload', payload }));
  assert.deepEqual(read(bytes), whole);
  for (let at = 0; at <= bytes.length; at += 1)
    assert.deepEqual(read(bytes.subarray(0, at), bytes.subarray(at)), whole);
  assert.deepEqual(read(...Array.from(bytes, (byte) => Buffer.of(byte))), whole);
});

test('a payload is incomplete until its last byte arrives', () => {
  const frame = encodeLengthFrame(Buffer.from('abc'));
  const decoder = new LengthFrameDecoder(300);
  assert.equal(decoder.isWithin, false);
  for (const byte of frame.subarray(0, -1)) {
    assert.deepEqual([...decoder.feed(Buffer.of(byte))], []);
    assert.equal(decoder.isWithin, true);
  }
  assert.equal([...decoder.feed(frame.subarray(-1))].length, 1);
  assert.equal(decoder.isWithin, false);
});

test('an invalid length is reported before the payload arrives, and nothing after it is read', () => {
  for (const length of [0, 301, 0xffff_ffff]) {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(length);
    assert.deepEqual(read(Buffer.concat([head, bytes])), [{ kind: 'invalid', length }]);
  }
});
