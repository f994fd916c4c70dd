import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Gathered } from '../../../src/lib/gathered.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

function scene() {
  const clock = new DrivenClock();
  const went: (readonly number[])[] = [];
  const gathered = new Gathered<number>(clock, { ms: 20, max: 3 }, (items) => went.push(items));
  return { clock, went, gathered };
}

test('the first item is passed on at once, the following ones of a moment together', () => {
  const { clock, went, gathered } = scene();
  for (const item of [1, 2, 3]) gathered.add(item);
  assert.deepEqual(went, [[1]]);
  clock.advance(19);
  assert.deepEqual(went, [[1]]);
  clock.advance(1);
  assert.deepEqual(went, [[1], [2, 3]]);
  clock.advance(19);
  gathered.add(4);
  assert.deepEqual(went, [[1], [2, 3]]);
  clock.advance(1);
  assert.deepEqual(went, [[1], [2, 3], [4]]);
  clock.advance(20);
  gathered.add(5);
  assert.deepEqual(went.at(-1), [5]);
});

test('a batch never exceeds its maximum', () => {
  const { went, gathered } = scene();
  for (const item of [1, 2, 3, 4, 5, 6]) gathered.add(item);
  assert.deepEqual(went, [[1], [2, 3, 4]]);
});

test('closing drops the waiting items and leaves no timer', () => {
  const { clock, went, gathered } = scene();
  gathered.add(1);
  gathered.add(2);
  gathered.close();
  clock.advance(100);
  assert.deepEqual(went, [[1]]);
  assert.equal(clock.pendingTimers, 0);
});
