import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FramePace } from '../../../../src/media/geometry/frame-pace.ts';
import { chanceFrom } from '../../../support/seeded-random.ts';

/** One character per frame: `x` is forwarded, `.` is not. */
function pacedAt(maxFps: number, timestamps: readonly number[]): string {
  const pace = new FramePace(maxFps);
  return timestamps.map((at) => (pace.admits(at >>> 0) ? 'x' : '.')).join('');
}

/** Integer milliseconds, as on the wire. */
function timestampsOf(fps: number, frames: number, startMs = 0): number[] {
  return Array.from({ length: frames }, (_, index) => startMs + Math.round((index * 1000) / fps));
}

const sources: [fps: number, maxFps: number, paced: RegExp, why: string][] = [
  [15, 15, /^x+$/, 'all go on'],
  [10, 15, /^x+$/, 'all go on'],
  [1, 15, /^x+$/, 'all go on'],
  [30, 15, /^(?:x\.)+$/, 'every second one, from the first on'],
  [20, 15, /^xx\.(?:xxx\.)+x$/, 'three of four, once it has started'],
  [60, 15, /^(?:x\.\.\.)+$/, 'every fourth'],
  [60, 30, /^(?:x\.)+$/, 'every second'],
  [30, 20, /^(?:xx\.)+$/, 'two of three'],
  [25, 25, /^x+$/, 'all go on'],
  [30, 1, /^(?:x\.{29})+$/, 'one a second'],
];
for (const [fps, maxFps, paced, why] of sources)
  test(`${maxFps} of ${fps} frames a second are forwarded: ${why}`, () => {
    assert.match(pacedAt(maxFps, timestampsOf(fps, 300)), paced);
  });

/** Each but the first is early or late by up to `jitterMs`. */
function jittered(timestamps: readonly number[], jitterMs: number, seed: number): number[] {
  const chance = chanceFrom(seed);
  return timestamps.map((at, index) => (index === 0 ? at : at + chance.below(2 * jitterMs + 1) - jitterMs));
}

test('a source as fast as the rate passes completely, though each frame is up to 20 ms early or late', () => {
  for (let seed = 0; seed < 500; seed += 1)
    assert.match(pacedAt(15, jittered(timestampsOf(15, 300), 20, seed)), /^x+$/, `seed ${seed}`);
});

test('a source twice as fast has every second frame forwarded, though each is up to 3 ms early or late', () => {
  for (let seed = 0; seed < 500; seed += 1)
    assert.match(pacedAt(15, jittered(timestampsOf(30, 300), 3, seed)), /^(?:x\.)+$/, `seed ${seed}`);
});

test('no frame is missed when the timestamps wrap around to 0', () => {
  const [rate, twice] = [timestampsOf(15, 60, 2 ** 32 - 2000), timestampsOf(30, 120, 2 ** 32 - 2000)];
  assert.match(pacedAt(15, rate), /^x+$/);
  assert.match(pacedAt(15, twice), /^(?:x\.)+$/);
});

const restarts: [name: string, secondStartMs: number][] = [
  ['a pause of two minutes', 130_000],
  ['a pause of 25 days', 10_000 + 2 ** 31],
  ['a jump back to 0', 0],
  ['a jump back by a second', 9000],
];
for (const [name, secondStartMs] of restarts)
  test(`${name} restarts the pace: every second frame again, from the first on`, () => {
    const before = timestampsOf(30, 60, 8000);
    assert.match(pacedAt(15, [...before, ...timestampsOf(30, 60, secondStartMs)]), /^(?:x\.)+$/);
  });

test('the source may become faster and slower', () => {
  const timestamps = [...timestampsOf(15, 60), ...timestampsOf(60, 240, 4000), ...timestampsOf(10, 40, 8000)];
  const paced = pacedAt(15, timestamps);
  assert.match(paced.slice(0, 60), /^x+$/);
  assert.match(paced.slice(80, 300), /^\.*(?:x\.\.\.)+$/);
  assert.match(paced.slice(301), /^x+$/);
});

test('a frame out of order is one additional frame, and no restart', () => {
  assert.equal(pacedAt(15, [0, 67, 133, 100, 200, 267]), 'xxx.xx');
});

test('the first of several frames with one timestamp is forwarded', () => {
  assert.equal(pacedAt(15, [7, 7, 7, 7, 7]), 'x....');
});

test('timestamps that go back step by step do not stop the picture', () => {
  const backwards = Array.from({ length: 100 }, (_, index) => 1_000_000 - 100 * index);
  assert.ok(pacedAt(15, backwards).replaceAll('.', '').length > 10);
});

test('a rate of 0 is a programming error', () => {
  assert.throws(() => new FramePace(0), /above 0/);
});
