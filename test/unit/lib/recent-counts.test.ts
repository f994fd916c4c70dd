import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentCounts } from '../../../src/lib/connections/recent-counts.ts';

test('an event is counted by its key until it expires', () => {
  const counts = new RecentCounts(3, 10);
  counts.add('a');
  counts.turn();
  counts.add('a');
  counts.add('b');
  assert.deepEqual([counts.countOf('a'), counts.countOf('b'), counts.total], [2, 1, 3]);
  counts.turn();
  assert.equal(counts.countOf('a'), 2);
  counts.turn();
  assert.deepEqual([counts.countOf('a'), counts.countOf('b'), counts.total], [1, 1, 2]);
  counts.turn();
  assert.equal(counts.total, 0);
});

test('withdrawing removes the newest event, and never counts below zero', () => {
  const counts = new RecentCounts(3, 10);
  counts.add('a');
  counts.turn();
  counts.add('a');
  counts.withdraw('a');
  assert.equal(counts.countOf('a'), 1);
  counts.withdraw('a');
  counts.withdraw('a');
  counts.withdraw('b');
  assert.equal(counts.total, 0);
});

test('at its maximum of keys no new key is counted until one expires', () => {
  const counts = new RecentCounts(2, 2);
  for (const key of ['a', 'b', 'c', 'a']) counts.add(key);
  assert.deepEqual([counts.countOf('a'), counts.countOf('b'), counts.countOf('c')], [2, 1, 0]);
  counts.withdraw('b');
  counts.add('c');
  assert.equal(counts.countOf('c'), 1);
  counts.turn();
  counts.turn();
  counts.add('d');
  assert.deepEqual([counts.countOf('d'), counts.total], [1, 1]);
});
