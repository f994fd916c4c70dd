import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoopProgress } from '../../../src/lib/loop-progress.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { metricSources } from '../../support/metric-sources.ts';

test('a sign is given at most once a second, while there is progress', () => {
  let nowMs = 5;
  let signs = 0;
  const progress = new LoopProgress({ monotonicMs: () => nowMs });
  const cancel = progress.onSign(() => (signs += 1));
  const signsAt: number[] = [];
  for (; nowMs < 3500; nowMs += 100) {
    progress.advance();
    if (signs > signsAt.length) signsAt.push(nowMs);
  }
  assert.deepEqual(signsAt, [1005, 2005, 3005]);
  nowMs = 100_000;
  assert.equal(signs, 3, 'none without progress');
  cancel();
  progress.advance();
  assert.equal(signs, 3);
});

test('a request, a login and a wakeup count as progress', () => {
  let nowMs = 0;
  const metrics = createMetrics(metricSources(), { monotonicMs: () => nowMs });
  let signs = 0;
  metrics.progress.onSign(() => (signs += 1));
  const work = [
    () => metrics.httpRequest('/v1/device/connectivity', 200, 0, 0.001),
    () => metrics.sleepLogin('accepted'),
    () => metrics.signalLogin('accepted'),
    () => metrics.wakeup('accepted'),
  ];
  for (const [done, perform] of work.entries()) {
    nowMs += 1000;
    perform();
    assert.equal(signs, done + 1);
  }
});
