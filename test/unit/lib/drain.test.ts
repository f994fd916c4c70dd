import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeadlineWheel, drain, type WheelEntry } from '../../../src/lib/collections/deadline-wheel.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

interface Drained {
  readonly ended: WheelEntry[];
  drain(ratePerSecond: number, deadlineMs: number): Promise<number>;
}

function wheelOf(count: number, clock = new DrivenClock()): Drained {
  const ended: WheelEntry[] = [];
  const entries = new DeadlineWheel<WheelEntry>(500, 0, () => undefined);
  for (let i = 0; i < count; i++)
    entries.add({ deadlineMs: 1_000_000 + i * 100, wheelNext: null, wheelPrevious: null });
  const end = (entry: WheelEntry): void => {
    entries.remove(entry);
    ended.push(entry);
  };
  return {
    ended,
    drain: (ratePerSecond, deadlineMs) => drain(entries, clock, ratePerSecond, deadlineMs, end),
  };
}

test('entries are ended at the rate, each once, until none is left', async () => {
  const clock = new DrivenClock();
  const wheel = wheelOf(250, clock);
  const left = wheel.drain(100, 30_000);
  clock.advance(1000);
  assert.equal(wheel.ended.length, 100);
  clock.advance(1500);
  assert.equal(new Set(wheel.ended).size, 250);
  assert.equal(wheel.ended.length, 250);
  assert.equal(await left, 0);
  assert.equal(clock.pendingTimers, 0);
});

test('a rate below one per step is kept too', () => {
  const clock = new DrivenClock();
  const wheel = wheelOf(10, clock);
  void wheel.drain(3, 30_000);
  clock.advance(2000);
  assert.equal(wheel.ended.length, 6);
});

test('entries left at the deadline stay unchanged', async () => {
  const clock = new DrivenClock();
  const wheel = wheelOf(100, clock);
  const left = wheel.drain(10, 2000);
  clock.advance(60_000);
  assert.equal(await left, 80);
  assert.equal(wheel.ended.length, 20);
});

test('an empty wheel is drained at once', async () => {
  assert.equal(await wheelOf(0).drain(10, 2000), 0);
});
