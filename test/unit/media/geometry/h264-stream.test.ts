import assert from 'node:assert/strict';
import { test } from 'node:test';
import { H264Frames } from '../../../../src/media/geometry/h264-stream.ts';

/** Writes the fields of a NAL unit. */
class Bits {
  #bits = '';

  fixed(value: number, bits: number): this {
    this.#bits += value.toString(2).padStart(bits, '0');
    return this;
  }

  unsigned(value: number): this {
    const code = (value + 1).toString(2);
    this.#bits += '0'.repeat(code.length - 1) + code;
    return this;
  }

  /** Behind a start code and a header; with the stop bit. */
  unit(header: number): number[] {
    const padded = `${this.#bits}1`;
    const bytes = padded.padEnd(Math.ceil(padded.length / 8) * 8, '0').match(/.{8}/g) ?? [];
    return [0, 0, 0, 1, header, ...bytes.map((byte) => Number.parseInt(byte, 2))];
  }
}

interface Sequence {
  readonly id?: number;
  readonly profile?: number;
  readonly chromaFormat?: number;
  readonly allowsGaps?: boolean;
}

/** Numbers have 4 bits, so that they begin again after 15. */
function sequence({ id = 0, profile = 66, chromaFormat = 1, allowsGaps = false }: Sequence = {}): number[] {
  const bits = new Bits().fixed(profile, 8).fixed(0, 8).fixed(30, 8).unsigned(id);
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
    .unit(0x67);
}

function slice(number: number, header = 0x41): number[] {
  return new Bits().unsigned(0).unsigned(5).unsigned(0).fixed(number, 4).fixed(0x55, 8).unit(header);
}

const key = [...sequence(), ...slice(0, 0x65)];

function follow(frames: readonly number[][], start = key): boolean[] {
  const numbers = new H264Frames();
  assert.equal(numbers.check(Uint8Array.from(start), true), 'whole');
  return frames.map((frame) => numbers.check(Uint8Array.from(frame), false) === 'whole');
}

void test('numbers that go up by one follow, also over their end', () => {
  const frames = Array.from({ length: 40 }, (_, i) => slice((i + 1) % 16));
  assert(follow(frames).every(Boolean));
});

void test('a number that is left out is a frame that is missing', () => {
  assert.deepEqual(follow([slice(1), slice(3)]), [true, false]);
  assert.deepEqual(follow([slice(2)]), [false]);
});

void test('pictures that nobody refers to have the next number, and do not use it up', () => {
  assert.deepEqual(follow([slice(1), slice(2, 0x01), slice(2, 0x01), slice(2), slice(4)]), [
    true,
    true,
    true,
    true,
    false,
  ]);
});

void test('a second field has the number of the first', () => {
  assert.deepEqual(follow([slice(1), slice(1), slice(2), slice(2)]), [true, true, true, true]);
});

void test('a key frame follows everything, whatever its number', () => {
  const numbers = new H264Frames();
  assert.equal(numbers.check(Uint8Array.from(key), true), 'whole');
  assert.equal(numbers.check(Uint8Array.from([...sequence(), ...slice(9, 0x61)]), true), 'whole');
  assert.equal(numbers.check(Uint8Array.from(slice(10)), false), 'whole');
  assert.equal(numbers.check(Uint8Array.from(slice(12)), false), 'incomplete');
});

void test('a high profile is read as well', () => {
  const start = [...sequence({ profile: 100 }), ...slice(0, 0x65)];
  assert.deepEqual(follow([slice(1), slice(3)], start), [true, false]);
});

void test('where gaps are allowed, or numbers cannot be told, everything follows', () => {
  for (const odd of [{ allowsGaps: true }, { id: 1 }, { profile: 244, chromaFormat: 3 }])
    assert.deepEqual(follow([slice(1), slice(7)], [...sequence(odd), ...slice(0, 0x65)]), [true, true]);
  assert.deepEqual(follow([slice(1), slice(7)], slice(0, 0x65)), [true, true]);
});

void test('whatever bytes come are no reason to stop', () => {
  const numbers = new H264Frames();
  const broken = [[], [0, 0, 1], [0, 0, 1, 0x67], [0, 0, 1, 0x41], key.slice(0, 12), sequence().slice(0, 9)];
  for (const bytes of broken) assert.equal(numbers.check(Uint8Array.from(bytes), false), 'whole');
});
