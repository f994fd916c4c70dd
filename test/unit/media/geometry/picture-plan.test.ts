import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { ResolutionMode, Size } from '../../../../src/model/call.ts';
import {
  exceeds,
  planPicture,
  reducePlan,
  reductionFor,
} from '../../../../src/media/geometry/picture-plan.ts';
import { sizeOf } from '../../../support/picture-sizes.ts';
import type { PictureShape } from '../../../../src/model/media/picture.ts';

const plans: [source: string, mode: ResolutionMode, screen: string | null, plan: string][] = [
  ['240x320', 'fit_screen', '160x100', '240x320+0+0 to 74x100'],
  ['240x320', 'fill_screen', '160x100', '240x150+0+84 to 160x100'],
  ['240x320', 'auto', null, '240x320+0+0 to 240x320'],
  ['240x320', 'auto', '160x100', '240x320+0+0 to 240x320'],
  ['241x321', 'auto', null, '241x321+0+0 to 241x321'],
  ['241x321', 'fit_screen', '640x480', '241x321+0+0 to 240x320'],
  ['3x2', 'auto', null, '3x2+0+0 to 3x2'],
  ['1x1', 'auto', null, '1x1+0+0 to 1x1'],
  ['700x2', 'fit_screen', '160x100', 'none'],
  ['1x1', 'fill_screen', '160x100', '1x1+0+0 to 160x100'],
];
for (const [source, mode, screen, expected] of plans)
  test(`${source} ${mode} on ${screen ?? 'no screen'} makes ${expected}`, () => {
    const plan = planPicture(sizeOf(source), { mode, screen: screen === null ? null : sizeOf(screen) });
    const said =
      plan === null
        ? 'none'
        : `${plan.crop.width}x${plan.crop.height}+${plan.crop.x}+${plan.crop.y} to ${plan.output.width}x${plan.output.height}`;
    assert.equal(said, expected);
  });

test('a scaled picture without a screen is a programming error', () => {
  for (const mode of ['fit_screen', 'fill_screen'] as const)
    assert.throws(() => planPicture({ width: 240, height: 320 }, { mode, screen: null }), /has a screen/);
});

const sources: [size: string, max: string, isTooLarge: boolean, isCoded?: boolean][] = [
  ['1920x1080', '1920x1080', false],
  ['1080x1920', '1920x1080', false],
  ['1920x1080', '1080x1920', false],
  ['1x1', '1920x1080', false],
  ['1921x1080', '1920x1080', true],
  ['1920x1081', '1920x1080', true],
  ['1081x1920', '1920x1080', true],
  ['1080x1921', '1920x1080', true],
  ['1500x1500', '1920x1080', true],
  ['1080x1080', '1920x1080', false],
  ['1921x1', '1920x1080', true],
  ['1x1921', '1920x1080', true],
  ['4096x4096', '4096x4096', false],
  ['4097x1', '4096x4096', true],
  ['1920x1088', '1920x1080', true],
  ['1920x1088', '1920x1080', false, true],
  ['1088x1920', '1920x1080', false, true],
  ['1920x1084', '1920x1080', true, true],
  ['1920x1096', '1920x1080', true, true],
  ['1936x1088', '1920x1080', true, true],
  ['1368x768', '1366x768', false, true],
];
for (const [size, max, isTooLarge, isCoded = false] of sources)
  test(`a ${isCoded ? 'coded source' : 'source'} of ${size} ${isTooLarge ? 'exceeds' : 'is within'} ${max}`, () => {
    assert.equal(exceeds(sizeOf(size), sizeOf(max), isCoded), isTooLarge);
  });

const vga: Size = { width: 640, height: 480 };
const own: PictureShape = { mode: 'auto', screen: null };

function fit(width: number, height: number): PictureShape {
  return { mode: 'fit_screen', screen: { width, height } };
}

function fill(width: number, height: number): PictureShape {
  return { mode: 'fill_screen', screen: { width, height } };
}

const cases: readonly (readonly [string, Size, readonly PictureShape[], number, number?])[] = [
  ['a picture that is as coarse in its colours', vga, [fit(160, 120)], 4, 2],
  ['a picture of more colour than 4:1:1 has at a quarter', vga, [fit(160, 120)], 1, 4],
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
for (const [name, source, shapes, reduction, chromaStep = 1] of cases)
  test(`${name}: sides are decoded divided by ${reduction}`, () => {
    assert.equal(reductionFor(source, shapes, chromaStep), reduction);
  });

test('the crop of the source is divided, the output is not', () => {
  const plan = planPicture(vga, fill(160, 100));
  assert.ok(plan !== null);
  assert.deepEqual(reducePlan(plan, 4), {
    crop: { x: 0, y: 10, width: 160, height: 100 },
    output: { width: 160, height: 100 },
  });
  assert.deepEqual(reducePlan(plan, 1), plan);
});
