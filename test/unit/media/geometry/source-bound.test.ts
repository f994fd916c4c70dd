import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exceeds } from '../../../../src/media/geometry/source-bound.ts';
import { sizeOf } from '../../../support/picture-sizes.ts';

const sources: [size: string, max: string, isTooLarge: boolean][] = [
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
];
for (const [size, max, isTooLarge] of sources)
  test(`a source of ${size} ${isTooLarge ? 'exceeds' : 'is within'} ${max}`, () => {
    assert.equal(exceeds(sizeOf(size), sizeOf(max)), isTooLarge);
  });
