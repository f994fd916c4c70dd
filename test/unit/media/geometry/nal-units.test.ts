import { test } from 'node:test';
import assert from 'node:assert/strict';
import {
  nextNalUnit,
  RbspReader,
  describeCodedFrame,
  type CodedFrame,
} from '../../../../src/media/geometry/nal-units.ts';
import { BitWriter } from '../../../support/bit-writer.ts';
import type { FrameContent } from '../../../../src/model/media/picture.ts';
import { h264 } from '../../../../src/media/geometry/h264-stream.ts';
import { h265 } from '../../../../src/media/geometry/h265-stream.ts';
import { h264ParameterSet, h265ParameterSet } from '../../../support/parameter-sets.ts';

function startsOf(bytes: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at)) starts.push(at);
  return starts;
}

const streams: [hex: string, starts: number[], why: string][] = [
  ['00000167', [3], 'a start code of three bytes'],
  ['0000000167', [4], 'one of four'],
  ['000000000000000167', [8], 'zeros before it'],
  ['00000167aabb00000168cc0000000165', [3, 9, 15], 'both kinds behind one another'],
  ['aabbcc00000167', [6], 'bytes before the first'],
  ['0000010000010000016705', [3, 6, 9], 'units of which nothing is there but a start code'],
  ['000001', [], 'a start code at the very end has no unit'],
  ['00000001', [], 'of four bytes, too'],
  ['0000', [], 'half of one'],
  ['', [], 'nothing at all'],
  ['00000367000002670001670100016700', [], 'no start code in bytes that look like one'],
  ['0100000167', [4], 'a one before it'],
];
for (const [hex, starts, why] of streams)
  test(`in ${hex === '' ? 'an empty frame' : hex} units begin at [${starts.join()}]: ${why}`, () => {
    assert.deepEqual(startsOf(Buffer.from(hex, 'hex')), starts);
  });

test('a start code is found at every place among every other byte', () => {
  for (let other = 0; other < 256; other += 1)
    for (let before = 0; before < 7; before += 1) {
      const frame = Buffer.concat([Buffer.alloc(before, other), Buffer.from([0, 0, 1, 0x65])]);
      assert.deepEqual(startsOf(frame), [before + 3], `${before} times ${other} before`);
    }
});

test('a frame in the middle of a buffer is not left', () => {
  const around = Buffer.from('00000167000001', 'hex');
  assert.deepEqual(startsOf(around.subarray(1, 4)), []);
  assert.deepEqual(startsOf(around.subarray(0, 3)), []);
});

const headerBytes = 5;

function readerOf(writer: BitWriter): RbspReader {
  return new RbspReader(writer.nalUnit([0x67]), headerBytes);
}

test('codes of every length are read as they were written', () => {
  const values = [0, 1, 2, 3, 6, 7, 8, 254, 255, 65_535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2];
  const reader = readerOf(new BitWriter().unsigned(...values));
  assert.deepEqual(
    values.map(() => reader.unsigned()),
    values,
  );
  assert.equal(reader.isBroken, false);
});

test('codes with a sign are, too', () => {
  const values = [1, -1, 2, -2, 127, -128, 2 ** 31 - 1, -(2 ** 31 - 1)];
  const reader = readerOf(new BitWriter().signed(...values));
  assert.deepEqual(
    values.map(() => reader.signed()),
    values,
  );
});

test('bytes against emulation of start codes are passed over', () => {
  const reader = readerOf(new BitWriter().fixed(0, 32).fixed(1, 32).fixed(3, 24).fixed(0xabcdef, 24));
  assert.deepEqual([reader.bits(32), reader.bits(32), reader.bits(24), reader.bits(24)], [0, 1, 3, 0xabcdef]);
  assert.equal(reader.isBroken, false);
});

test('a three that stands against nothing is a three', () => {
  const reader = new RbspReader(Uint8Array.of(0, 3, 1, 3, 0, 0, 3, 0, 3), 0);
  assert.deepEqual([reader.bits(32), reader.bits(32)], [0x00030103, 0x00000003]);
});

const ends: [hex: string, bits: number, why: string][] = [
  ['ff', 8, 'the end of the frame'],
  ['ff000001ff', 8, 'the next start code'],
  ['ff00000001ff', 8, 'the next start code, of four bytes'],
  ['ff00', 8, 'a zero at the end of the frame'],
  ['ff0000', 8, 'zeros at the end of the frame'],
  ['ff000002ff', 8, 'three bytes that cannot be in a unit'],
  ['ff000003', 24, 'the end of the frame behind a byte against emulation'],
];
for (const [hex, bits, why] of ends)
  test(`reading ends at ${why}`, () => {
    const reader = new RbspReader(Buffer.from(hex, 'hex'), 0);
    assert.equal(reader.bits(bits), 0xff * 2 ** (bits - 8));
    assert.equal(reader.isBroken, false);
    assert.equal(reader.bit(), 0);
    assert.equal(reader.isBroken, true);
    assert.deepEqual([reader.bits(32), reader.unsigned()], [0, 0]);
  });

test('a code of more than 31 zeros is none', () => {
  const reader = new RbspReader(Buffer.from('000003000003000003000003ffffffffff', 'hex'), 0);
  assert.equal(reader.unsigned(), 0);
  assert.equal(reader.isBroken, true);
});

function describeH264(bytes: Uint8Array): CodedFrame {
  return describeCodedFrame(bytes, h264);
}

function describeH265(bytes: Uint8Array): CodedFrame {
  return describeCodedFrame(bytes, h265);
}

function unit(type: number, layer = 0): Buffer {
  return Buffer.from([0, 0, 0, 1, (type << 1) | (layer >> 5), ((layer & 31) << 3) | 1, 0xaf, 0x08]);
}

const small265 = h265ParameterSet({ coded: [80, 104], crop: [0, 3, 0, 2] });

const idr = Buffer.from('0000000165888404', 'hex');
const interSlice = Buffer.from('00000141888404', 'hex');
const delimiter = Buffer.from('0000000109f0', 'hex');
const small = h264ParameterSet({ macroblocks: [5, 7], crop: [0, 3, 0, 6] });

const frames: [name: string, frame: Buffer[], content: FrameContent, hasKey: boolean, hasSize: boolean][] = [
  ['an IDR picture with its parameter sets', [delimiter, small, idr], 'picture', true, true],
  ['an IDR picture alone', [idr], 'picture', true, false],
  ['another picture', [delimiter, interSlice], 'picture', false, false],
  ['another picture with parameter sets', [small, interSlice], 'picture', false, true],
  ['parameter sets alone', [small], 'parameters', false, true],
  ['data partitions', [hex('00000142aa00000143aa00000144aa')], 'picture', false, false],
  ['an access unit delimiter alone', [delimiter], 'parameters', false, false],
  ['a unit of a number that is none', [hex('0000001f88')], 'nothing', false, false],
  ['no start code', [hex('65888404')], 'nothing', false, false],
  ['nothing', [], 'nothing', false, false],
];
for (const [name, units, content, hasKey, hasSize] of frames)
  test(`${name}: ${content}, ${hasKey ? 'a' : 'no'} key frame, size ${hasSize ? '74x100' : 'not known'}`, () => {
    const size = hasSize ? { width: 74, height: 100 } : null;
    assert.deepEqual(describeH264(Buffer.concat(units)), { content, hasKey, size });
  });

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

test('a frame of nothing but parameter sets is read no further than the 32nd', () => {
  const large = h264ParameterSet({ macroblocks: [40, 30] });
  const frame = (before: number): Buffer => Buffer.concat([...Array<Buffer>(before).fill(small), large, idr]);
  assert.deepEqual(describeH264(frame(31)).size, { width: 640, height: 480 });
  assert.deepEqual(describeH264(frame(32)).size, { width: 74, height: 100 });
});

for (let type = 0; type < 32; type += 1)
  test(`a slice of type ${type} is ${type >= 16 && type <= 21 ? 'a' : 'no'} key frame`, () => {
    const { hasKey } = describeH265(Buffer.concat([unit(35), small265, unit(type), unit(19)]));
    assert.equal(hasKey, type >= 16 && type <= 21);
  });

test('units that are no slices are passed over', () => {
  for (let type = 32; type < 64; type += 1)
    assert.deepEqual(describeH265(Buffer.concat([unit(type), small265, unit(19)])), {
      content: 'picture',
      hasKey: true,
      size: { width: 74, height: 100 },
    });
});

for (const half of ['0000000142', '0000014200000126', '00000126000001020000010100'])
  test(`half a header of a unit is none: ${half}`, () => {
    assert.deepEqual(describeH265(Buffer.from(half, 'hex')), {
      content: 'nothing',
      hasKey: false,
      size: null,
    });
  });

test('parameter sets, messages and further layers are no picture, and what has no number is nothing', () => {
  const contentOf = (...types: number[]): string =>
    describeH265(Buffer.concat(types.map((type) => unit(type)))).content;
  assert.deepEqual([contentOf(32, 33, 34), contentOf(35), contentOf(39, 40)], Array(3).fill('parameters'));
  assert.equal(describeH265(unit(1, 1)).content, 'parameters');
  assert.deepEqual([contentOf(41), contentOf(63)], ['nothing', 'nothing']);
  assert.equal(contentOf(41, 1), 'picture');
});
