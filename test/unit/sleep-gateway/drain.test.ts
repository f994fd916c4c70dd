import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeadlineWheel, type WheelEntry } from '../../../src/base/deadline-wheel.ts';
import { drainSleepers } from '../../../src/sleep-gateway/drain.ts';
import type { Sleeper } from '../../../src/sleep-gateway/gatehouse.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

function houseOf(count: number): { sleepers: DeadlineWheel<Sleeper>; ends: string[] } {
  const ends: string[] = [];
  const sleepers = new DeadlineWheel<Sleeper>(500, 0, (sleeper) => sleeper.expire());
  for (let i = 0; i < count; i++) {
    const sleeper = {
      deadlineMs: 1_000_000 + i * 100,
      wheelNext: null as WheelEntry | null,
      wheelPrevious: null as WheelEntry | null,
      expire: () => undefined,
      drop: () => undefined,
      end: (reason: string) => {
        sleepers.remove(sleeper);
        ends.push(reason);
      },
    };
    sleepers.add(sleeper);
  }
  return { sleepers, ends };
}

test('sessions are ended at the rate, each once, until none is left', async () => {
  const clock = new DrivenClock();
  const { sleepers, ends } = houseOf(250);
  const left = drainSleepers(sleepers, clock, 100, 30_000);
  clock.advance(1000);
  assert.equal(ends.length, 100);
  clock.advance(1500);
  assert.deepEqual([...new Set(ends)], ['drain']);
  assert.equal(ends.length, 250);
  assert.equal(await left, 0);
  assert.equal(clock.pendingTimers, 0);
});

test('a rate below one a step is kept too', () => {
  const clock = new DrivenClock();
  const { sleepers, ends } = houseOf(10);
  void drainSleepers(sleepers, clock, 3, 30_000);
  clock.advance(2000);
  assert.equal(ends.length, 6);
});

test('what the time does not suffice for is left as it is', async () => {
  const clock = new DrivenClock();
  const { sleepers, ends } = houseOf(100);
  const left = drainSleepers(sleepers, clock, 10, 2000);
  clock.advance(60_000);
  assert.equal(await left, 80);
  assert.equal(ends.length, 20);
});

test('an empty house is drained at once', async () => {
  const { sleepers } = houseOf(0);
  assert.equal(await drainSleepers(sleepers, new DrivenClock(), 10, 2000), 0);
});
