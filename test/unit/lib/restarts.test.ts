import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { Restarts } from '../../../src/lib/restarts.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

const bounds = { msMin: 100, msMax: 500 };

test('the first death may be followed at once, and those behind it ever later, up to a bound', () => {
  const restarts = new Restarts(new DrivenClock(), { immediate: 1, ...bounds });
  const quick = Array.from({ length: 6 }, () => restarts.died(false));
  assert.deepEqual(quick, [0, 100, 200, 400, 500, 500]);
  assert.deepEqual([restarts.died(true), restarts.died(false), restarts.died(false)], [0, 0, 100]);
});

test('where no death is followed at once, one that had lived waits the least', () => {
  const restarts = new Restarts(new DrivenClock(), { immediate: 0, ...bounds });
  const quick = Array.from({ length: 4 }, () => restarts.died(false));
  assert.deepEqual(quick, [100, 200, 400, 500]);
  assert.deepEqual([restarts.died(true), restarts.died(false)], [100, 200]);
});

test('a start that fails, at once or later, is a death soon after it, and is tried again until it is stopped', async () => {
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
