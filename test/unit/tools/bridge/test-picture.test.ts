import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testFilm } from '../../../../src/tools/bridge/test-picture.ts';
import { i420Bytes } from '../../../../src/media/geometry/source-frame.ts';
import type { Size } from '../../../../src/model/call.ts';

const landscape = { width: 320, height: 240 };
const sizes = [
  { width: 16, height: 16 },
  landscape,
  { width: 240, height: 320 },
  { width: 4096, height: 16 },
  { width: 18, height: 4096 },
];

/** The first pictures of a film, which are numbered from 0. */
function pictures(size: Size, count: number): readonly Uint8Array[] {
  const film = testFilm();
  return Array.from({ length: count }, () => film.pictureAt(0, size));
}

for (const size of sizes)
  test(`pictures of ${size.width}×${size.height} have their planes and keep to the limited range`, () => {
    for (const picture of pictures(size, 12)) {
      assert.equal(picture.length, i420Bytes(size));
      assert.ok(picture.every((sample) => sample >= 16 && sample <= 240));
    }
  });

test('a number that is wider than its picture keeps to it', () => {
  const [last] = pictures({ width: 16, height: 16 }, 1001).slice(-1);
  assert.ok(last?.every((sample) => sample >= 16 && sample <= 240));
});

test('no two of a minute are alike, and each shows its number', () => {
  const [one, again] = [pictures(landscape, 900), pictures(landscape, 8)];
  assert.equal(new Set(one.map((picture) => Buffer.from(picture).toString('latin1'))).size, 900);
  const label = (picture: Uint8Array | undefined): string =>
    String(picture?.subarray(320 * 8, 320 * 8 + 24).join());
  assert.notEqual(label(one[1]), label(one[7]));
  assert.equal(label(one[4]), label(again[4]));
});

test('it has colours, and its bars are where they were whatever moves', () => {
  const blue = pictures(landscape, 6).map((picture) => picture[320 * 240 + 10 * 160 + 130]);
  assert.deepEqual([blue[0], blue[5]], [212, 212]);
});
