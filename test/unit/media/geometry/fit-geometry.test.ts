import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitSize } from '../../../../src/media/geometry/fit-geometry.ts';
import { sizeOf } from '../../../support/picture-sizes.ts';

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
for (const [source, screen, picture, why] of fits)
  test(`${source} on a screen of ${screen} is ${picture ?? 'dropped'}: ${why}`, () => {
    const size = fitSize(sizeOf(source), sizeOf(screen));
    assert.equal(size && `${size.width}x${size.height}`, picture);
  });
