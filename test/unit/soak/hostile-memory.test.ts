/** Tests the memory verdict of the hostile soak: leaks are found; pending requests and V8's reserves are not leaks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { growthOf, judgeGrowth } from '../../soak/hostile/memory.ts';
import type { ProcessSample } from '../../soak/server/samples.ts';
import { chanceFrom } from '../../support/seeded-random.ts';

const [aliveMiB, anonymousMiB] = [60, 140];
const seconds = 30;
const samples = 24;

/** Samples of an attacked process with a varying number of pending requests. */
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

test('a process without growth is flat, whatever its pending requests', () => {
  assert.deepEqual(judgeGrowth(growthOf(attacked({}))), []);
});

test('a leak of 2 KiB per attack at 1 000 attacks a second is found', () => {
  const [complaint, ...others] = judgeGrowth(growthOf(attacked({ alive: (second) => 2 * second })));
  assert.match(complaint ?? '', /^memory alive grew by \d+/);
  assert.deepEqual(others, []);
});

test('a native leak of 48 MiB a second is found', () => {
  const [complaint, ...others] = judgeGrowth(growthOf(attacked({ anonymous: (second) => 48 * second })));
  assert.match(complaint ?? '', /^memory from the kernel grew by \d+/);
  assert.deepEqual(others, []);
});

test('a single growth of V8 in a storm, and growth during the warm-up, are not leaks', () => {
  const once = {
    alive: (second: number) => Math.min(second, 12) * 4,
    anonymous: (second: number) => (second > 25 ? 99 : 0),
  };
  assert.deepEqual(judgeGrowth(growthOf(attacked(once))), []);
});

test('a process with too few samples fails', () => {
  assert.deepEqual(judgeGrowth(growthOf(attacked({}).slice(0, 10))), ['too few samples of its memory']);
});
