/** The page of the figures against their results: what is made of them is what is there. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { drawPlot } from '../../bench/page/svg-plot.ts';
import { makePages, resultsFolder } from '../../bench/page/page.ts';
import { readResults } from '../../bench/page/results.ts';
import { checkout, readFromRoot } from '../support/checkout.ts';

const pages = await makePages();

for (const [path, text] of pages)
  test(`${path} is what the results of the benchmarks make`, () => {
    assert.ok(existsSync(new URL(path, checkout)), 'run npm run bench:page');
    assert.equal(readFromRoot(path), text, 'run npm run bench:page');
  });

test('every plot that is there is made of a result', () => {
  const plots = readdirSync(new URL('docs/benchmarks', checkout)).map((file) => `docs/benchmarks/${file}`);
  assert.deepEqual(
    plots.filter((path) => !pages.has(path)),
    [],
  );
});

test('figures that are no look are of one commit on one machine', () => {
  const measured = [...readResults(resultsFolder).values()].filter((result) => !result.isProvisional);
  assert.ok(new Set(measured.map(({ commit }) => commit)).size <= 1, 'several commits');
  assert.ok(new Set(measured.map(({ machine }) => machine)).size <= 1, 'several machines');
});

test('the page shows every figure that has a result', () => {
  const page = readFromRoot('docs/benchmarks.md');
  const missing = [...readResults(resultsFolder).keys()].filter(
    (name) => !page.includes(`<!-- made: figure ${name} -->`),
  );
  assert.deepEqual(missing, []);
});

test('a plot says what it shows to those who do not see it, and escapes what would be markup', () => {
  const series = [{ name: 'a < b', points: [{ x: 1, y: 2 }] }];
  const axis = { title: 'x', isLog: true };
  const svg = drawPlot({
    title: 'T & U',
    description: 'D',
    panels: [{ title: 'P', x: axis, y: axis, series }],
  });
  assert.match(svg, /<title id="title">T &amp; U<\/title>/);
  assert.match(svg, /<desc id="description">D<\/desc>/);
  assert.doesNotMatch(svg, /NaN|Infinity|a < b/);
});
