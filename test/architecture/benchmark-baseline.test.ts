/** The small benchmarks against their baseline: the same machine as it is, another one by how fast it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calibration, compareWithBaseline, readBaseline } from '../../bench/support/baseline.ts';

const here = { machine: 'ours', node: '22.0.0' };
const baseline = { ...here, commit: 'abc', cases: { [calibration]: 1000, step: 100 } };

test('on the machine of the baseline a step is compared as it is', () => {
  const comparison = compareWithBaseline(baseline, new Map([[calibration, 5000]]), here);
  assert.equal(comparison.timesOf('step', 150), 1.5);
  assert.match(comparison.note, /^compared with commit abc/);
});

test('on a machine that is half as fast, a step that takes twice as long is no slower', () => {
  const comparison = compareWithBaseline(baseline, new Map([[calibration, 2000]]), { ...here, machine: 'x' });
  assert.equal(comparison.timesOf('step', 200), 1);
  assert.match(comparison.note, /another machine.*2\.00 times/);
});

test('a step that the baseline does not know is new', () => {
  assert.equal(compareWithBaseline(baseline, new Map(), here).timesOf('other', 1), null);
});

test('the baseline that is committed has the calibration', () => {
  assert.ok((readBaseline().cases[calibration] ?? 0) > 0);
});
