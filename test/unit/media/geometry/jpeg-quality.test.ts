import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantiserOf } from '../../../../src/media/geometry/jpeg-quality.ts';

const quantisers: [quality: number, qscale: number][] = [
  [100, 1],
  [89, 1],
  [88, 2],
  [82, 2],
  [81, 3],
  [80, 3],
  [75, 3],
  [65, 4],
  [50, 6],
  [25, 11],
  [10, 27],
  [9, 30],
  [8, 31],
  [1, 31],
];
for (const [quality, qscale] of quantisers)
  test(`quality ${quality} is qscale ${qscale}`, () => {
    assert.equal(quantiserOf(quality), qscale);
  });

test('a better quality never has a coarser quantiser', () => {
  for (let quality = 2; quality <= 100; quality += 1)
    assert.ok(quantiserOf(quality) <= quantiserOf(quality - 1), `${quality}`);
});
