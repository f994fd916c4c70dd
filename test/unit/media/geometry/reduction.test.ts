import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Size } from '../../../../src/model/call.ts';
import type { PictureShape } from '../../../../src/model/picture.ts';
import { planPicture } from '../../../../src/media/geometry/picture-plan.ts';
import { reducePlan, reductionFor } from '../../../../src/media/geometry/reduction.ts';

const vga: Size = { width: 640, height: 480 };
const own: PictureShape = { mode: 'auto', screen: null };

function fit(width: number, height: number): PictureShape {
  return { mode: 'fit_screen', screen: { width, height } };
}

function fill(width: number, height: number): PictureShape {
  return { mode: 'fill_screen', screen: { width, height } };
}

const cases: readonly (readonly [string, Size, readonly PictureShape[], number])[] = [
  ['a picture of a quarter of the sides', vga, [fit(160, 120)], 4],
  ['a smaller one, of a part of the source', vga, [fill(160, 100)], 4],
  ['several that are all so small', vga, [fit(160, 120), fill(80, 60)], 4],
  ['one that is a little larger', vga, [fit(162, 122)], 1],
  ['a small one beside one of its own size', vga, [fit(160, 120), own], 1],
  ['none at all', vga, [], 1],
  ['a picture with a side of nothing', { width: 8, height: 3200 }, [fit(2, 100)], 1],
  ['a source whose sides are not of eights', { width: 636, height: 480 }, [fit(100, 100)], 1],
  ['a part of the source whose corner is not on eights', { width: 648, height: 480 }, [fill(160, 120)], 1],
];
for (const [name, source, shapes, reduction] of cases)
  test(`${name}: sides are decoded as they are, divided by ${reduction}`, () => {
    assert.equal(reductionFor(source, shapes), reduction);
  });

test('the part of the source that is used is divided, the picture is not', () => {
  const plan = planPicture(vga, fill(160, 100));
  assert.ok(plan !== null);
  assert.deepEqual(reducePlan(plan, 4), {
    crop: { x: 0, y: 10, width: 160, height: 100 },
    output: { width: 160, height: 100 },
  });
  assert.deepEqual(reducePlan(plan, 1), plan);
});
