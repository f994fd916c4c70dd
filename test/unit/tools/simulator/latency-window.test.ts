import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatencyWindow } from '../../../../src/tools/simulator/fleet-table.ts';

test('the median, the slowest but one in twenty, and the slowest', () => {
  const window = new LatencyWindow();
  for (let ms = 100; ms >= 1; ms -= 1) window.add(0, ms);
  assert.deepEqual(window.summarize(0), { count: 100, p50Ms: 50, p95Ms: 95, maxMs: 100 });
});

test('one sample is all three', () => {
  const window = new LatencyWindow();
  window.add(0, 412.4);
  assert.deepEqual(window.summarize(0), { count: 1, p50Ms: 412, p95Ms: 412, maxMs: 412 });
});

test('what is older than a minute is not counted', () => {
  const window = new LatencyWindow();
  assert.equal(window.summarize(0), null);
  window.add(0, 1);
  window.add(1, 3);
  assert.equal(window.summarize(59_999)?.count, 2);
  assert.equal(window.summarize(60_000)?.maxMs, 3);
  assert.equal(window.summarize(60_001), null);
});

test('of more than it can hold the latest count', () => {
  const window = new LatencyWindow();
  window.add(0, 9999);
  for (let i = 0; i < 16_384; i += 1) window.add(0, 1);
  assert.deepEqual(window.summarize(0), { count: 16_384, p50Ms: 1, p95Ms: 1, maxMs: 1 });
});
