import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DeadlineWheel, type WheelEntry } from '../../../../src/lib/collections/deadline-wheel.ts';

class Entry implements WheelEntry {
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  expiredMs = -1;
  deadlineMs: number;
  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs;
  }
}

function wheelAt(nowMs: number): { wheel: DeadlineWheel<Entry>; turnTo: (ms: number) => void } {
  let current = nowMs;
  const wheel = new DeadlineWheel<Entry>(1000, nowMs, (entry) => {
    entry.expiredMs = current;
  });
  const turnTo = (ms: number): void => {
    while (current < ms) {
      current = Math.min(ms, current + 1000);
      wheel.turn(current);
    }
  };
  return { wheel, turnTo };
}

test('an entry expires never before its deadline and at most two ticks after it, renewed or not', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5000 }),
      fc.array(fc.integer({ min: 1, max: 11_000_000 }), { minLength: 1, maxLength: 20 }),
      (startMs, delays) => {
        const { wheel, turnTo } = wheelAt(startMs);
        const entries = delays.map((delay) => new Entry(startMs + delay));
        for (const entry of entries) wheel.add(entry);
        turnTo(startMs + 11_003_000);
        for (const entry of entries) {
          assert.ok(entry.expiredMs >= entry.deadlineMs, 'early');
          assert.ok(entry.expiredMs <= entry.deadlineMs + 2000, 'late');
        }
        assert.equal(wheel.size, 0);
      },
    ),
    { numRuns: 20 },
  );
});

test('a renewed deadline needs no relinking', () => {
  const { wheel, turnTo } = wheelAt(0);
  const entry = new Entry(15_000);
  wheel.add(entry);
  turnTo(14_000);
  entry.deadlineMs = 29_000;
  turnTo(28_000);
  assert.equal(entry.expiredMs, -1);
  turnTo(31_000);
  assert.ok(entry.expiredMs >= 29_000);
});

test('a hastened deadline is met', () => {
  const { wheel, turnTo } = wheelAt(0);
  const entry = new Entry(3_000_000);
  wheel.add(entry);
  entry.deadlineMs = 5000;
  wheel.hasten(entry);
  turnTo(7000);
  assert.ok(entry.expiredMs >= 5000 && entry.expiredMs <= 7000);
});

test('an entry that is removed while its slot is swept does not expire', () => {
  let victim: Entry | null = null;
  const wheel: DeadlineWheel<Entry> = new DeadlineWheel(1000, 0, (entry) => {
    entry.expiredMs = 1;
    if (victim !== null) wheel.remove(victim);
  });
  const first = new Entry(5000);
  victim = new Entry(5000);
  wheel.add(first);
  wheel.add(victim);
  wheel.turn(6000);
  assert.equal(first.expiredMs, 1);
  assert.equal(victim.expiredMs, -1);
  assert.equal(wheel.size, 0);
});

test('a process that was stopped for longer than a turn expires everything that is due, once', () => {
  const { wheel } = wheelAt(0);
  const entries = Array.from({ length: 2000 }, (_, i) => new Entry(i * 1000));
  for (const entry of entries) wheel.add(entry);
  wheel.turn(10_000_000);
  assert.equal(wheel.size, 0);
});

test('the requested number of entries is picked, each once, and they may then be removed', () => {
  const { wheel } = wheelAt(0);
  for (let i = 0; i < 1000; i++) wheel.add(new Entry(i * 700));
  const picked = wheel.pick(400);
  assert.equal(new Set(picked).size, 400);
  for (const entry of picked) wheel.remove(entry);
  assert.equal(wheel.size, 600);
  assert.equal(wheel.pick(Infinity).length, 600);
});
