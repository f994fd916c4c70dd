import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentCounts } from '../../../src/lib/connections/recent-counts.ts';

test('what was noted is counted by its key until its time is over', () => {
  const counts = new RecentCounts(3, 10);
  counts.note('a');
  counts.turn();
  counts.note('a');
  counts.note('b');
  assert.deepEqual([counts.countOf('a'), counts.countOf('b'), counts.total], [2, 1, 3]);
  counts.turn();
  assert.equal(counts.countOf('a'), 2);
  counts.turn();
  assert.deepEqual([counts.countOf('a'), counts.countOf('b'), counts.total], [1, 1, 2]);
  counts.turn();
  assert.equal(counts.total, 0);
});

test('one that is over is withdrawn, the newest first, and none below nothing', () => {
  const counts = new RecentCounts(3, 10);
  counts.note('a');
  counts.turn();
  counts.note('a');
  counts.withdraw('a');
  assert.equal(counts.countOf('a'), 1);
  counts.withdraw('a');
  counts.withdraw('a');
  counts.withdraw('b');
  assert.equal(counts.total, 0);
});

test('beyond the keys it may hold nothing more is noted, until some are forgotten', () => {
  const counts = new RecentCounts(2, 2);
  for (const key of ['a', 'b', 'c', 'a']) counts.note(key);
  assert.deepEqual([counts.countOf('a'), counts.countOf('b'), counts.countOf('c')], [2, 1, 0]);
  counts.withdraw('b');
  counts.note('c');
  assert.equal(counts.countOf('c'), 1);
  counts.turn();
  counts.turn();
  counts.note('d');
  assert.deepEqual([counts.countOf('d'), counts.total], [1, 1]);
});
