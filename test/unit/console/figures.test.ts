/** The series behind the console's plots. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Figures } from '../../../src/console/plots/figures.ts';

const everyMs = 5000;

function figuresOf(series: Readonly<Record<string, readonly (number | null)[]>>, next?: number): Figures {
  const figures = new Figures();
  figures.add(answer(series, next));
  return figures;
}

function answer(series: Readonly<Record<string, readonly (number | null)[]>>, next?: number) {
  const notes = Math.max(0, ...Object.values(series).map(({ length }) => length));
  const end = next ?? notes;
  const at_ms = Array.from({ length: notes }, (_, at) => (end - notes + at) * everyMs);
  return { every_ms: everyMs, next: end, at_ms, series };
}

test('a counter is shown as its rate, with no value where it is missing or was reset', () => {
  const figures = figuresOf({ 'wakeups.accepted': [10, 20, null, 45, 5, 10] });
  assert.deepEqual(figures.rate(figures.of('wakeups.accepted')), [null, 2, null, null, null, 1]);
});

test('a sum has a value if any of its parts has one', () => {
  const figures = figuresOf({ 'calls.issued': [1, null, null], 'calls.connected': [2, 3, null] });
  assert.deepEqual(figures.sum('calls', figures.labels('calls')), [3, 3, null]);
});

test('later records are appended, also for a new series', () => {
  const figures = figuresOf({ sleep_sessions: [1, 2] });
  figures.add(answer({ sleep_sessions: [3], signal_sessions: [9] }, 3));
  assert.deepEqual(figures.of('sleep_sessions'), [1, 2, 3]);
  assert.deepEqual(figures.of('signal_sessions'), [null, null, 9]);
  assert.deepEqual(figures.of('none'), [null, null, null]);
});

test('the records of a restarted server replace the earlier ones', () => {
  const figures = figuresOf({ sleep_sessions: [1, 2] }, 100);
  figures.add(answer({ sleep_sessions: [7] }, 1));
  assert.deepEqual(figures.of('sleep_sessions'), [7]);
});

test('records are kept for an hour', () => {
  const figures = new Figures();
  for (let next = 1; next <= 800; next++) figures.add(answer({ sleep_sessions: [next] }, next));
  assert.equal(figures.atMs.length, 720);
  assert.deepEqual([figures.of('sleep_sessions')[0], figures.of('sleep_sessions').at(-1)], [81, 800]);
});

test('the wake time covers the wakeups of the last minute, and is absent without any', () => {
  const figures = figuresOf({
    'woke_within.1': [0, 5, 5],
    'woke_within.2': [0, 10, 10],
    'woke_within.+Inf': [0, 10, 10],
  });
  assert.deepEqual(figures.wokeAfter(0.5), [null, 1, 1]);
  assert.deepEqual(figures.wokeAfter(0.75), [null, 1.5, 1.5]);
});

test('a quantile is linear within its bucket, and the last bound beyond it', () => {
  const figures = figuresOf({
    'woke_within.1': [0, 0],
    'woke_within.2': [0, 8],
    'woke_within.+Inf': [0, 10],
  });
  assert.deepEqual([figures.wokeAfter(0.4)[1], figures.wokeAfter(0.99)[1]], [1.5, 2]);
});
