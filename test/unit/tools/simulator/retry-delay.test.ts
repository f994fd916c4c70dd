import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelayMs } from '../../../../src/tools/simulator/simulated-device.ts';

test('the wait doubles from 2 s to 300 s', () => {
  assert.deepEqual(
    [1, 2, 3, 8, 9, 1000].map((failures) => retryDelayMs(failures, 0)),
    [2000, 4000, 8000, 256_000, 300_000, 300_000],
  );
});

test('chance adds up to half of it, within the same bound', () => {
  assert.equal(retryDelayMs(1, 1), 3000);
  assert.equal(retryDelayMs(9, 1), 300_000);
});

test('a device waits as it was advised', () => {
  const advice = { minSeconds: 0.5, maxSeconds: 1.7, jitter: 0.2 };
  assert.deepEqual(
    [1, 2, 3].map((failures) => retryDelayMs(failures, 1, advice)),
    [600, 1200, 1700],
  );
});
