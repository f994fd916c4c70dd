import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextNalUnit } from '../../../../src/media/geometry/nal-units.ts';

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
