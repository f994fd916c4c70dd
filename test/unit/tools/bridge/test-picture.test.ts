import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawTestPicture } from '../../../../src/tools/bridge/test-picture.ts';
import { i420Bytes } from '../../../../src/media/geometry/source-frame.ts';

const sizes = [
  { width: 16, height: 16 },
  { width: 320, height: 240 },
  { width: 240, height: 320 },
  { width: 4096, height: 16 },
  { width: 18, height: 4096 },
];

for (const size of sizes)
  test(`a picture of ${size.width}×${size.height} has its planes and keeps to the limited range`, () => {
    for (const number of [0, 1, 999, 123_456]) {
      const picture = drawTestPicture(size, number);
      assert.equal(picture.length, i420Bytes(size));
      assert.ok(picture.every((sample) => sample >= 16 && sample <= 240));
    }
  });

test('no two of a minute are alike, and each shows its number', () => {
  const size = { width: 320, height: 240 };
  const pictures = Array.from({ length: 900 }, (_, number) => Buffer.from(drawTestPicture(size, number)));
  assert.equal(new Set(pictures.map((picture) => picture.toString('latin1'))).size, 900);
  const label = (number: number): string =>
    drawTestPicture(size, number)
      .subarray(320 * 8, 320 * 8 + 24)
      .join();
  assert.notEqual(label(1), label(7));
  assert.equal(label(4), label(4));
});

test('it has colours, and its bars are where they were whatever moves', () => {
  const size = { width: 320, height: 240 };
  const blue = (number: number): number | undefined =>
    drawTestPicture(size, number)[320 * 240 + 10 * 160 + 130];
  assert.equal(blue(0), 212);
  assert.equal(blue(5), 212);
});
