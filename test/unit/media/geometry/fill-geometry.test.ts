import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillCrop } from '../../../../src/media/geometry/fill-geometry.ts';
import { sizeOf } from '../../../support/picture-sizes.ts';

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
for (const [source, screen, crop, why] of crops)
  test(`of ${source} a screen of ${screen} shows ${crop}: ${why}`, () => {
    const { width, height, x, y } = fillCrop(sizeOf(source), sizeOf(screen));
    assert.equal(`${width}x${height}+${x}+${y}`, crop);
  });
