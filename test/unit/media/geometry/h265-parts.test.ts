import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PictureParts } from '../../../../src/media/geometry/h265-parts.ts';
import { BitWriter } from '../../../support/bit-writer.ts';
import { h265ParameterSet } from '../../../support/parameter-sets.ts';

/** 10 by 8 blocks, so that a position takes 7 bits. */
const sequence = h265ParameterSet({ coded: [160, 128], blockSide: 16, subLayers: [[true, true]] });
const types = { slice: 1, key: 19, pictureParameters: 34, message: 39, suffix: 40 };

function unit(type: number, bits: BitWriter): Buffer {
  return bits.nalUnit([type << 1, 1]);
}

function pictureParameters(id = 0, hasDependent = false): Buffer {
  return unit(types.pictureParameters, new BitWriter().unsigned(id, 0).fixed(Number(hasDependent), 1));
}

/** A slice that begins at `block`, with these picture parameters. */
function slice(
  begin: number,
  { type = types.slice, id = 0, isDependent = null as boolean | null, placeBits = 7, dataBytes = 2 } = {},
): Buffer {
  const bits = new BitWriter().fixed(Number(begin === 0), 1);
  if (type === types.key) bits.fixed(0, 1);
  bits.unsigned(id);
  if (begin > 0 && isDependent !== null) bits.fixed(Number(isDependent), 1);
  if (begin > 0) bits.fixed(begin, placeBits);
  for (let i = 0; i < dataBytes; i += 1) bits.fixed(0x55, 8);
  return unit(type, bits);
}

const hash = unit(types.suffix, new BitWriter().fixed(132, 8).fixed(16, 8));

function judged(...units: readonly (readonly Buffer[])[]): boolean[] {
  const parts = new PictureParts();
  return units.map((picture) => parts.check(Buffer.concat(picture)) === 'whole');
}

const key = [sequence, pictureParameters(), slice(0, { type: types.key }), slice(40, { type: types.key })];
const whole = [slice(0), slice(40)];
const nine = Array.from({ length: 9 }, () => whole);

test('a picture without its first slice is incomplete, whatever is known', () => {
  assert.deepEqual(judged([sequence, pictureParameters(), slice(40)]), [false]);
  assert.deepEqual(judged(key, [slice(40)], whole), [true, false, true]);
});

test('slices that are out of order, or begin outside the picture, are damage', () => {
  assert.deepEqual(
    judged(
      key,
      [slice(0), slice(40), slice(20)],
      [slice(0), slice(40), slice(40)],
      [slice(0), slice(80)],
      [slice(0), slice(79)],
    ),
    [true, false, false, false, true],
  );
});

test('after pictures with the same slices, one with fewer of them is incomplete', () => {
  assert.deepEqual(judged(key, ...nine, [slice(0)], whole).slice(-2), [false, true]);
  assert.deepEqual(judged(key, whole, [slice(0)]), [true, true, true], 'a few tell nothing yet');
});

test('a sender that stops slicing loses one picture', () => {
  assert.deepEqual(judged(key, ...nine, [slice(0)], [slice(0)], [slice(0)]).slice(-3), [false, true, true]);
});

test('a sender that slices by bytes, differently for each picture, is trusted', () => {
  const pictures = Array.from({ length: 20 }, (_, n) => [slice(0), slice(10 + n), slice(40 + n)]);
  assert.ok(judged(key, ...pictures, [slice(0)], [slice(0), slice(33)]).every(Boolean));
});

test('more slices than a picture has at any level are damage, and are not compared with each other', () => {
  const large = h265ParameterSet({ coded: [512, 512], blockSide: 16 });
  const slices = Array.from({ length: 602 }, (_, n) => slice(n, { placeBits: 10, dataBytes: 100 }));
  assert.deepEqual(judged([large, pictureParameters(), ...slices.slice(0, 601)], slices), [true, false]);
});

test('a missing hash of a picture is a missing part', () => {
  const hashed = Array.from({ length: 9 }, () => [slice(0), hash]);
  assert.deepEqual(judged(key, ...hashed, [slice(0)], [slice(0), hash]).slice(-2), [false, true]);
});

test('slices that continue the previous one say so if their picture parameters allow it', () => {
  const dependent = [sequence, pictureParameters(3, true)];
  const parts = [
    slice(0, { id: 3 }),
    slice(20, { id: 3, isDependent: true }),
    slice(40, { id: 3, isDependent: false }),
  ];
  assert.deepEqual(
    judged([...dependent, ...parts], [slice(0, { id: 3 }), slice(40, { id: 3, isDependent: true })]),
    [true, true],
  );
  assert.deepEqual(judged([...dependent, ...parts.toReversed()]), [true], 'the first one begins a picture');
});

test('slices at unknown positions are not judged', () => {
  const unknown = [
    [pictureParameters(), slice(40)],
    [sequence, slice(40)],
    [h265ParameterSet({ coded: [160, 128], blockSide: 8 }), pictureParameters(), slice(40)],
    [sequence, pictureParameters(64), slice(40, { id: 64 })],
    [sequence, pictureParameters()],
    [],
  ];
  for (const units of unknown) assert.deepEqual(judged(units), [true]);
});

test('the last of several pictures in one message is judged', () => {
  assert.deepEqual(judged(key, [...whole, ...whole]), [true, true]);
});

test('each slice is placed by its own parameter set, whatever the others contain', () => {
  const tiny = h265ParameterSet({ coded: [16, 16], blockSide: 16, id: 1 });
  const overlapping = [slice(0), slice(40), slice(40)];
  assert.deepEqual(judged(key, [tiny, ...overlapping], [tiny, ...whole]), [true, false, true]);
});

/** 120 by 68 blocks, with slices that begin at every `step`th of them. */
function sliced(step: number, dataBytes: number): Buffer[] {
  const large = h265ParameterSet({ coded: [1920, 1088], blockSide: 16 });
  const slices = Array.from({ length: Math.ceil(8160 / step) }, (_, n) =>
    slice(n * step, { placeBits: 13, dataBytes }),
  );
  return [large, pictureParameters(), ...slices];
}

test('slices may cost as many pictures as one for every row, and more only if they have the bytes', () => {
  assert.deepEqual(judged(sliced(120, 2)), [true]);
  assert.deepEqual(judged(sliced(60, 2)), [false]);
  assert.deepEqual(judged(sliced(60, 450)), [true]);
});

test('slices at unknown positions cost whole pictures', () => {
  const broken = h265ParameterSet({ coded: [1920, 1088], blockSide: 8 });
  const slices = Array.from({ length: 80 }, () => slice(40));
  assert.deepEqual(judged([broken, pictureParameters(), ...slices]), [false]);
  assert.deepEqual(judged([broken, pictureParameters(), ...slices.slice(40)]), [true]);
});

test('a small picture may have as many slices as it has blocks', () => {
  const slices = Array.from({ length: 80 }, (_, n) => slice(n));
  assert.deepEqual(judged([sequence, pictureParameters(), ...slices]), [true]);
});

test('a frame of too many units or parameter sets is rejected, and so is one whose pictures need too much memory', () => {
  const messages = Array.from({ length: 1281 }, () => unit(types.message, new BitWriter().fixed(1, 8)));
  const sets = Array.from({ length: 33 }, () => pictureParameters());
  const large = h265ParameterSet({ coded: [4096, 4096], blockSide: 16, references: 4 });
  const kept = h265ParameterSet({ coded: [4096, 4096], blockSide: 16, references: 3 });
  assert.deepEqual(judged(messages.slice(1), messages), [true, false]);
  assert.deepEqual(judged(sets.slice(1), sets), [true, false]);
  assert.deepEqual(judged([kept]), [true]);
  assert.deepEqual(judged([large]), [false]);
});
