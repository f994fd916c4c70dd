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

/** The first pictures of a film. */
function pictures(size: Size, count: number): readonly Uint8Array[] {
  const film = testFilm();
  return Array.from({ length: count }, () => film.pictureAt(0, size));
}

for (const size of sizes)
  test(`pictures of ${size.width}×${size.height} have all planes and stay in the limited range`, () => {
    for (const picture of pictures(size, 12)) {
      assert.equal(picture.length, i420Bytes(size));
      assert.ok(picture.every((sample) => sample >= 16 && sample <= 240));
    }
  });

test('the pictures of several seconds all differ, and every film starts alike', () => {
  const small = { width: 160, height: 120 };
  const [one, again] = [pictures(small, 100), pictures(small, 2)];
  const texts = one.map((picture) => Buffer.from(picture).toString('latin1'));
  assert.equal(new Set(texts).size, 100);
  assert.deepEqual(one.slice(0, 2), again);
});

test('pictures have colours, and the bars do not move', () => {
  const blue = pictures(landscape, 6).map((picture) => picture[320 * 240 + 10 * 160 + 130]);
  assert.deepEqual([blue[0], blue[5]], [212, 212]);
});
