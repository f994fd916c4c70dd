import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidArgumentError } from 'commander';
import { filmShow, parseSizes } from '../../../../src/tools/bridge/bridge-show.ts';
import { testFilm, type Film } from '../../../../src/tools/bridge/test-picture.ts';
import { engineTest } from '../../../support/engine-test.ts';

const [small, large] = [
  { width: 320, height: 240 },
  { width: 480, height: 640 },
];

const request = { ...small, rotation: 0, max_fps: 15 };

test('sizes are parsed in the usual notations', () => {
  assert.deepEqual(parseSizes('320x240'), [small]);
  assert.deepEqual(parseSizes('320x240,480×640'), [small, large]);
  assert.deepEqual(parseSizes('16x4096'), [{ width: 16, height: 4096 }]);
});

test('an invalid size, an odd side or a side out of range is rejected', () => {
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

engineTest('the sizes cycle', (engine) => {
  const plan = { format: 'mjpeg', openFilm: testFilm } as const;
  const { coder, sizeAt } = filmShow(engine, { ...plan, sizes: [small, large] }, request);
  coder.close();
  assert.deepEqual(
    [0, 4999, 5000, 9999, 10_000, 15_000].map((atMs) => sizeAt(atMs)),
    [small, small, large, large, small, large],
  );
});

engineTest('a film is played as the call requests it, and no faster than its own rate', (engine) => {
  const rateOf = (framesPerSecond: number | null): number => {
    const openFilm = (): Film => ({ ...testFilm(), framesPerSecond });
    const show = filmShow(engine, { format: 'mjpeg', sizes: null, openFilm }, request);
    show.coder.close();
    assert.deepEqual(show.sizeAt(0), small);
    return show.framesPerSecond;
  };
  assert.deepEqual([null, 25, 9.7, 0.2].map(rateOf), [15, 15, 10, 1]);
});
