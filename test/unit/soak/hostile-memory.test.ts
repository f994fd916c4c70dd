/** The verdict of the hostile soak on memory: a leak is found, and requests under way and V8's own sizes are none. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf, judgeGrowth } from '../../soak/hostile/memory.ts';
import type { ProcessSample } from '../../soak/server/samples.ts';
import { chanceFrom } from '../../support/seeded-random.ts';

const [aliveMiB, anonymousMiB] = [60, 140];
const seconds = 30;
const samples = 24;

/** A process that is attacked: requests under way come and go. */
function attacked(grown: { alive?: (second: number) => number; anonymous?: (second: number) => number }) {
  const chance = chanceFrom(1);
  return Array.from({ length: samples }, (_, index): ProcessSample => {
    const second = ((index + 1) * seconds) / samples;
    return {
      kind: 'process',
      at: second,
      pid: 1,
      isCollected: true,
      liveMiB: aliveMiB + chance.below(5) + (grown.alive?.(second) ?? 0),
      rssAnonMiB: anonymousMiB + chance.below(40) + (grown.anonymous?.(second) ?? 0),
      descriptors: 2000,
      timers: 12,
    };
  });
}

test('a process that holds what it held is flat, whatever the requests under way', () => {
  assert.deepEqual(judgeGrowth(growthOf(attacked({}))), []);
});

test('2 KiB that each of 1 000 attacks a second leaves behind are found', () => {
  const [complaint, ...others] = judgeGrowth(growthOf(attacked({ alive: (second) => 2 * second })));
  assert.match(complaint ?? '', /^memory alive grew by \d+/);
  assert.deepEqual(others, []);
});

test('native memory that grows by 48 MiB a second is found', () => {
  const [complaint, ...others] = judgeGrowth(growthOf(attacked({ anonymous: (second) => 48 * second })));
  assert.match(complaint ?? '', /^memory from the kernel grew by \d+/);
  assert.deepEqual(others, []);
});

test('memory that V8 takes for a storm once, and as much as a process takes while it warms up, is no leak', () => {
  const once = {
    alive: (second: number) => Math.min(second, 12) * 4,
    anonymous: (second: number) => (second > 25 ? 99 : 0),
  };
  assert.deepEqual(judgeGrowth(growthOf(attacked(once))), []);
});

test('a process that was sampled too seldom is not judged flat', () => {
  assert.deepEqual(judgeGrowth(growthOf(attacked({}).slice(0, 10))), ['too few samples of its memory']);
});
