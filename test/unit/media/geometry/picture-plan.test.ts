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
  test(`of ${source} ${mode} on ${screen ?? 'no screen'} makes ${expected}`, () => {
    const plan = planPicture(sizeOf(source), { mode, screen: screen === null ? null : sizeOf(screen) });
    const said =
      plan === null
        ? 'none'
        : `${plan.crop.width}x${plan.crop.height}+${plan.crop.x}+${plan.crop.y} to ${plan.output.width}x${plan.output.height}`;
    assert.equal(said, expected);
  });

test('a scaled picture without a screen is a mistake of the caller', () => {
  for (const mode of ['fit_screen', 'fill_screen'] as const)
    assert.throws(() => planPicture({ width: 240, height: 320 }, { mode, screen: null }), /has a screen/);
});

const fits: [source: string, screen: string, picture: string | null, why: string][] = [
  ['240x320', '160x100', '74x100', 'the worked case: 75 columns, and 74 are even'],
  ['320x240', '160x100', '132x100', '133 and a third'],
  ['640x480', '640x480', '640x480', 'already the screen'],
  ['320x240', '640x480', '320x240', 'never made larger'],
  ['320x240', '641x100', '132x100', 'a screen that is wider but not as high'],
  ['321x241', '640x480', '320x240', 'odd sides lose a line, though nothing is scaled'],
  ['640x480', '639x480', '638x478', 'a screen of an odd side: 639 by 479.25'],
  ['640x480', '640x479', '638x478', '638.67 by 479'],
  ['1920x1080', '480x480', '480x270', 'the width binds'],
  ['1080x1920', '480x480', '270x480', 'the height binds'],
  ['4096x4096', '2x2', '2x2', 'the largest source on the smallest screen'],
  ['49x4096', '4096x4095', '48x4094', 'sides whose quotient is close below a whole number'],
  ['3x3', '2x2', '2x2', 'scaled by two thirds'],
  ['2x2', '4096x4096', '2x2', 'the smallest picture there is'],
  ['700x2', '350x350', null, 'a row is left: 1 is odd'],
  ['2x700', '350x350', null, 'a column is left'],
  ['700x2', '300x300', null, 'less than a row is left'],
  ['1x700', '700x700', null, 'a source of one column, though nothing is scaled'],
  ['700x1', '700x700', null, 'a source of one row'],
];
const crops: [source: string, screen: string, crop: string, why: string][] = [
  ['240x320', '160x100', '240x150+0+84', 'the worked case: 85 rows above would be odd'],
  ['320x240', '160x100', '320x200+0+20', 'rows are cut'],
  ['640x480', '640x480', '640x480+0+0', 'the screen itself'],
  ['640x480', '320x240', '640x480+0+0', 'the same aspect'],
  ['320x240', '640x480', '320x240+0+0', 'made larger, nothing cut'],
  ['640x480', '100x100', '480x480+80+0', 'columns are cut'],
  ['480x640', '100x100', '480x480+0+80', 'rows are cut'],
  ['641x481', '641x481', '640x480+0+0', 'odd sides lose a line'],
  ['101x100', '100x100', '100x100+0+0', 'half a column to the left is none'],
  ['103x100', '100x100', '100x100+0+0', 'one column to the left would be odd'],
  ['104x100', '100x100', '100x100+2+0', 'two columns to the left'],
  ['100x75', '100x50', '100x50+0+12', 'twelve rows and a half above'],
  ['100x100', '200x98', '100x48+0+26', '49 rows: as near to 48 as to 50, and the lower it is'],
  ['100x100', '1000x491', '100x50+0+24', '49.1 rows are nearer to 50'],
  ['100x100', '1000x489', '100x48+0+26', '48.9 rows are nearer to 48'],
  ['99x99', '1000x995', '98x98+0+0', '98.505 rows: 98 is the even number that is there'],
  ['4096x4096', '4096x2', '4096x2+0+2046', 'a slit'],
  ['100x100', '4096x2', '100x2+0+48', 'less than two rows are two'],
  ['700x3', '2x700', '2x2+348+0', 'less than a column is two'],
  ['1x1', '160x100', '1x1+0+0', 'the source has no two columns'],
  ['1x700', '160x100', '1x2+0+348', 'one column, and of the rows two'],
  ['3x1', '2x2', '2x1+0+0', 'one row, and of the columns two'],
];

/** One suite for both scaled modes: fitting tells the size of the picture, filling the part of the source. */
const scaled: {
  name: string;
  source: string;
  mode: ResolutionMode;
  screen: string;
  expected: string | null;
}[] = [
  ...fits.map(([source, screen, expected, why]) => ({
    name: `${source} on a screen of ${screen} is ${expected ?? 'dropped'}: ${why}`,
    source,
    mode: 'fit_screen' as const,
    screen,
    expected,
  })),
  ...crops.map(([source, screen, expected, why]) => ({
    name: `of ${source} a screen of ${screen} shows ${expected}: ${why}`,
    source,
    mode: 'fill_screen' as const,
    screen,
    expected,
  })),
];
for (const { name, source, mode, screen, expected } of scaled)
  test(name, () => {
    const plan = planPicture(sizeOf(source), { mode, screen: sizeOf(screen) });
    const crop = plan && `${plan.crop.width}x${plan.crop.height}+${plan.crop.x}+${plan.crop.y}`;
    const output = plan && `${plan.output.width}x${plan.output.height}`;
    assert.equal(mode === 'fit_screen' ? output : crop, expected);
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
  test(`${name}: sides are decoded as they are, divided by ${reduction}`, () => {
    assert.equal(reductionFor(source, shapes, chromaStep), reduction);
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
