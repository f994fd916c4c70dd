import assert from 'node:assert/strict';
import { test } from 'node:test';
import { H264Frames } from '../../../../src/media/geometry/h264-stream.ts';
import { BitWriter } from '../../../support/bit-writer.ts';

interface Sequence {
  readonly id?: number;
  readonly profile?: number;
  readonly chromaFormat?: number;
  readonly allowsGaps?: boolean;
}

/** Numbers have 4 bits, so they wrap around after 15. */
function sequence({ id = 0, profile = 66, chromaFormat = 1, allowsGaps = false }: Sequence = {}): Buffer {
  const bits = new BitWriter().fixed(profile, 8).fixed(0, 8).fixed(30, 8).unsigned(id);
  if (profile === 100 || profile === 244) {
    bits.unsigned(chromaFormat);
    if (chromaFormat === 3) bits.fixed(0, 1);
    bits.unsigned(0).unsigned(0).fixed(0, 1).fixed(0, 1);
  }
  return bits
    .unsigned(0)
    .unsigned(2)
    .unsigned(1)
    .fixed(Number(allowsGaps), 1)
    .unsigned(19)
    .unsigned(14)
    .nalUnit([0x67]);
}

function slice(number: number, header = 0x41): Buffer {
  return new BitWriter()
    .unsigned(0)
    .unsigned(5)
    .unsigned(0)
    .fixed(number, 4)
    .fixed(0x55, 8)
    .nalUnit([header]);
}

const key = [...sequence(), ...slice(0, 0x65)];

function follow(frames: readonly Iterable<number>[], start: Iterable<number> = key): boolean[] {
  const numbers = new H264Frames();
  assert.equal(numbers.check(Uint8Array.from(start), true), 'whole');
  return frames.map((frame) => numbers.check(Uint8Array.from(frame), false) === 'whole');
}

test('numbers that increase by one are consecutive, also when they wrap around', () => {
  const frames = Array.from({ length: 40 }, (_, i) => slice((i + 1) % 16));
  assert(follow(frames).every(Boolean));
});

test('a skipped number is a missing frame', () => {
  assert.deepEqual(follow([slice(1), slice(3)]), [true, false]);
  assert.deepEqual(follow([slice(2)]), [false]);
});

test('pictures that are no reference have the next number, and do not consume it', () => {
  assert.deepEqual(follow([slice(1), slice(2, 0x01), slice(2, 0x01), slice(2), slice(4)]), [
    true,
    true,
    true,
    true,
    false,
  ]);
});

test('a second field has the number of the first', () => {
  assert.deepEqual(follow([slice(1), slice(1), slice(2), slice(2)]), [true, true, true, true]);
});

test('a key frame follows any frame, whatever its number', () => {
  const numbers = new H264Frames();
  assert.equal(numbers.check(Uint8Array.from(key), true), 'whole');
  assert.equal(numbers.check(Uint8Array.from([...sequence(), ...slice(9, 0x61)]), true), 'whole');
  assert.equal(numbers.check(Uint8Array.from(slice(10)), false), 'whole');
  assert.equal(numbers.check(Uint8Array.from(slice(12)), false), 'incomplete');
});

test('a high profile is parsed as well', () => {
  const start = [...sequence({ profile: 100 }), ...slice(0, 0x65)];
  assert.deepEqual(follow([slice(1), slice(3)], start), [true, false]);
});

test('when gaps are allowed, or numbers are unknown, every frame follows', () => {
  for (const odd of [{ allowsGaps: true }, { id: 1 }, { profile: 244, chromaFormat: 3 }])
    assert.deepEqual(follow([slice(1), slice(7)], [...sequence(odd), ...slice(0, 0x65)]), [true, true]);
  assert.deepEqual(follow([slice(1), slice(7)], slice(0, 0x65)), [true, true]);
});

test('arbitrary bytes do not throw', () => {
  const numbers = new H264Frames();
  const broken = [[], [0, 0, 1], [0, 0, 1, 0x67], [0, 0, 1, 0x41], key.slice(0, 12), sequence().slice(0, 9)];
  for (const bytes of broken) assert.equal(numbers.check(Uint8Array.from(bytes), false), 'whole');
});
