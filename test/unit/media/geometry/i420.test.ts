import assert from 'node:assert/strict';
import { test } from 'node:test';
import { i420Bytes } from '../../../../src/media/geometry/i420.ts';
import { sizeOf } from '../../../support/picture-sizes.ts';

const planes: [size: string, bytes: number][] = [
  ['640x480', 307_200 + 2 * 76_800],
  ['74x100', 7400 + 2 * 1850],
  ['2x2', 4 + 2],
  ['1x1', 1 + 2],
  ['3x2', 6 + 2 * 2],
  ['3x3', 9 + 2 * 4],
  ['65535x65535', 65_535 ** 2 + 2 * 32_768 ** 2],
];
for (const [size, bytes] of planes)
  test(`the planes of ${size} are ${bytes} bytes`, () => {
    assert.equal(i420Bytes(sizeOf(size)), bytes);
  });
