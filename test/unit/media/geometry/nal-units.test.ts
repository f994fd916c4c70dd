import { test } from 'node:test';
import assert from 'node:assert/strict';
import { RbspReader, describeCodedFrame, type CodedFrame } from '../../../../src/media/geometry/nal-units.ts';
import { BitWriter } from '../../../support/bit-writer.ts';
import type { FrameContent } from '../../../../src/model/media/picture.ts';
import { h264 } from '../../../../src/media/geometry/h264-stream.ts';
import { h265 } from '../../../../src/media/geometry/h265-stream.ts';
import { h264ParameterSet, h265ParameterSet } from '../../../support/parameter-sets.ts';

const headerBytes = 5;

function readerOf(writer: BitWriter): RbspReader {
  return new RbspReader(writer.nalUnit([0x67]), headerBytes);
}

test('codes of every length are read as written', () => {
  const values = [0, 1, 2, 3, 6, 7, 8, 254, 255, 65_535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2];
  const reader = readerOf(new BitWriter().unsigned(...values));
  assert.deepEqual(
    values.map(() => reader.unsigned()),
    values,
  );
  assert.equal(reader.isBroken, false);
});

test('signed codes are, too', () => {
  const values = [1, -1, 2, -2, 127, -128, 2 ** 31 - 1, -(2 ** 31 - 1)];
  const reader = readerOf(new BitWriter().signed(...values));
  assert.deepEqual(
    values.map(() => reader.signed()),
    values,
  );
});

test('a three that is no emulation prevention is a three', () => {
  const reader = new RbspReader(Uint8Array.of(0, 3, 1, 3, 0, 0, 3, 0, 3), 0);
  assert.deepEqual([reader.bits(32), reader.bits(32)], [0x00030103, 0x00000003]);
});

test('a code of more than 31 zeros is invalid', () => {
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

test('units that are no slices are skipped', () => {
  for (let type = 32; type < 64; type += 1)
    assert.deepEqual(describeH265(Buffer.concat([unit(type), small265, unit(19)])), {
      content: 'picture',
      hasKey: true,
      size: { width: 74, height: 100 },
    });
});

for (const half of ['0000000142', '0000014200000126', '00000126000001020000010100'])
  test(`half a unit header is no unit: ${half}`, () => {
    assert.deepEqual(describeH265(Buffer.from(half, 'hex')), {
      content: 'nothing',
      hasKey: false,
      size: null,
    });
  });

test('parameter sets, messages and further layers are no picture, and an invalid header is nothing', () => {
  const contentOf = (...types: number[]): string =>
    describeH265(Buffer.concat(types.map((type) => unit(type)))).content;
  assert.deepEqual([contentOf(32, 33, 34), contentOf(35), contentOf(39, 40)], Array(3).fill('parameters'));
  assert.equal(describeH265(unit(1, 1)).content, 'parameters');
  assert.deepEqual([contentOf(41), contentOf(63)], ['nothing', 'nothing']);
  assert.equal(contentOf(41, 1), 'picture');
});
