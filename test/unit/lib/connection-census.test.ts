import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionCensus } from '../../../src/lib/open-files-limit.ts';

function scene(pool: number) {
  const held = { api: 0, ops: 0, sleep: 0 };
  const census = new ConnectionCensus<keyof typeof held>(pool);
  census.join('api', { reserved: 10, count: () => held.api });
  census.join('ops', { reserved: 5, count: () => held.ops });
  census.join('sleep', { reserved: 0, count: () => held.sleep });
  return { census, held };
}

test('a listener has its reserved part regardless of the others', () => {
  const { census, held } = scene(100);
  held.sleep = 1000;
  assert.deepEqual([census.roomOf('api', 0.25), census.roomOf('ops', 1)], [10, 5]);
});

test('beyond its reserved part a listener has its share of the pool', () => {
  const { census } = scene(100);
  assert.equal(census.roomOf('api', 0.25), 35);
  assert.equal(census.roomOf('api', 1), 110);
});

test('pool connections of another listener are deducted, its reserved part is not', () => {
  const { census, held } = scene(100);
  held.ops = 5;
  assert.equal(census.othersOf('sleep'), 0);
  held.api = 30;
  assert.equal(census.othersOf('sleep'), 20);
  held.sleep = 90;
  assert.equal(census.roomOf('api', 0.25), 20);
});

test('a process without spare descriptors has reserved parts but no pool', () => {
  const { census } = scene(-50);
  assert.deepEqual([census.roomOf('api', 1), census.roomOf('sleep', 1)], [10, 0]);
});

test('open connections are counted by listener', () => {
  const { census, held } = scene(1);
  held.api = 3;
  assert.deepEqual(census.counts(), { api: 3, ops: 0, sleep: 0 });
});
