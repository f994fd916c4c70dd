import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import { parseSizes, sizeAt } from '../../../../src/tools/bridge/picture-sizes.ts';

const [small, large] = [
  { width: 320, height: 240 },
  { width: 480, height: 640 },
];

test('sizes are read as people write them', () => {
  assert.deepEqual(parseSizes('320x240'), [small]);
  assert.deepEqual(parseSizes('320x240,480×640'), [small, large]);
  assert.deepEqual(parseSizes('16x4096'), [{ width: 16, height: 4096 }]);
});

test('what is no size, has an odd side or is out of bounds is refused', () => {
  for (const text of [
    '',
    '320',
    '320x',
    'x240',
    '320x240,',
    '321x240',
    '320x241',
    '14x16',
    '4098x16',
    '-320x240',
  ])
    assert.throws(() => parseSizes(text), InvalidArgumentError, text);
});

test('each size has its turn, and then the first one again', () => {
  const at = (atMs: number): number => sizeAt([small, large], 5000, atMs).width;
  assert.deepEqual([0, 4999.9, 5000, 9999, 10_000, 15_000].map(at), [320, 320, 480, 480, 320, 480]);
});

test('without turns the first one stays', () => {
  assert.equal(sizeAt([small, large], null, 3_600_000), small);
});
