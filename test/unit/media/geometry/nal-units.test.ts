import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextNalUnit, RbspReader } from '../../../../src/media/geometry/nal-units.ts';
import { BitWriter } from '../../../support/bit-writer.ts';

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
