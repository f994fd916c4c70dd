import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { Restarts } from '../../../src/lib/restarts.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

const bounds = { msMin: 100, msMax: 500 };

test('the first early death may restart at once, later ones after growing waits up to a bound', () => {
  const restarts = new Restarts(new DrivenClock(), { immediate: 1, ...bounds });
  const quick = Array.from({ length: 6 }, () => restarts.died(false));
  assert.deepEqual(quick, [0, 100, 200, 400, 500, 500]);
  assert.deepEqual([restarts.died(true), restarts.died(false), restarts.died(false)], [0, 0, 100]);
});

test('without an immediate restart, a death after serving waits the minimum', () => {
  const restarts = new Restarts(new DrivenClock(), { immediate: 0, ...bounds });
  const quick = Array.from({ length: 4 }, () => restarts.died(false));
  assert.deepEqual(quick, [100, 200, 400, 500]);
  assert.deepEqual([restarts.died(true), restarts.died(false)], [100, 200]);
});

test('a failed start, synchronous or not, counts as an early death and is retried until the stop', async () => {
  const clock = new DrivenClock();
  const restarts = new Restarts(clock, { immediate: 1, ...bounds });
  const failures: unknown[] = [];
  let starts = 0;
  const start = (): Promise<void> => {
    starts += 1;
    if (starts === 1) throw new Error('at once');
    return Promise.reject(new Error('later'));
  };
  restarts.startAfter(restarts.died(true), start, (error, waitMs) =>
    failures.push([(error as Error).message, waitMs]),
  );
  for (const waitMs of [0, 100, 200]) {
    clock.advance(waitMs);
    await setImmediate();
  }
  assert.deepEqual(failures, [
    ['at once', 0],
    ['later', 100],
    ['later', 200],
    ['later', 400],
  ]);
  restarts.stop();
  clock.advance(1000);
  assert.deepEqual([starts, clock.pendingTimers], [4, 0]);
});
