/** Compares the committed baseline of the short check with the figures that it watches. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSlower, readBaseline, slowdownMax } from '../../bench/baseline.ts';
import { benchmarks } from '../../bench/benchmarks.ts';

const watched = Object.entries(benchmarks).flatMap(([name, { watched: figures = [] }]) =>
  figures.map((figure) => ({ name, ...figure })),
);

test('the baseline has a ratio for each watched figure, and for no other', () => {
  assert.ok(watched.length > 8, `${watched.length} figures`);
  const stored = Object.entries(readBaseline()).flatMap(([name, ratios]) =>
    Object.entries(ratios).map(([what, ratio]) => {
      assert.ok(ratio > 0, `${name}: ${what}: ${ratio}`);
      return `${name}: ${what}`;
    }),
  );
  const expected = watched.map(({ name, what }) => `${name}: ${what}`);
  assert.deepEqual(stored.toSorted(), expected.toSorted(), 'run npm run bench -- --save-baseline');
});

test('a figure is slower only if both runs exceed the baseline by half', () => {
  const baseline = 2;
  const slow = baseline * slowdownMax + 0.01;
  assert.equal(isSlower([slow, slow], baseline), true);
  assert.equal(isSlower([slow, baseline], baseline), false);
  assert.equal(isSlower([baseline * slowdownMax], baseline), false);
  assert.equal(isSlower([], baseline), false);
});

test('a figure without a baseline counts as slower', () => {
  assert.equal(isSlower([0.1], 0), true);
});
