/** Property: whatever the timestamps of a source, as long as they increase, no more frames pass than the rate allows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FramePace } from '../../src/media/geometry/frame-pace.ts';

function steps(step: fc.Arbitrary<number>): fc.Arbitrary<number[]> {
  return fc.array(step, { maxLength: 300, size: 'max' });
}

/** A source with a roughly constant rate and jitter, with occasional pauses, or with no rate at all. */
const stream = fc.record({
  maxFps: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant(15)),
  startMs: fc.nat(0xffffffff),
  stepsMs: fc.oneof(
    steps(fc.integer({ min: 20, max: 46 })),
    steps(fc.oneof({ arbitrary: fc.nat(40), weight: 20 }, { arbitrary: fc.nat(100_000), weight: 1 })),
    steps(fc.nat(200)),
  ),
});

/** Milliseconds from the first frame at which frames passed. */
function admittedAt(
  pace: { admits(timestampMs: number): boolean },
  startMs: number,
  stepsMs: readonly number[],
): number[] {
  const admitted: number[] = [];
  let at = 0;
  for (const stepMs of [0, ...stepsMs]) {
    at += stepMs;
    if (pace.admits((startMs + at) % 2 ** 32)) admitted.push(at);
  }
  return admitted;
}

/** The largest number of frames in excess of the intervals in any time span. */
function excess(admitted: readonly number[], maxFps: number): number {
  let [least, most] = [Infinity, 0];
  for (const [index, at] of admitted.entries()) {
    const ahead = index - (at * maxFps) / 1000;
    least = Math.min(least, ahead);
    most = Math.max(most, ahead - least + 1);
  }
  return most;
}

const rounding = 1e-6;

test('in any time span, at most two more frames pass than it has intervals', () => {
  fc.assert(
    fc.property(stream, ({ maxFps, startMs, stepsMs }) => {
      const admitted = admittedAt(new FramePace(maxFps), startMs, stepsMs);
      assert.ok(excess(admitted, maxFps) <= 2 + rounding);
    }),
    { numRuns: 500 },
  );
});

test('a frame two intervals or more after the last passing one passes', () => {
  fc.assert(
    fc.property(stream, ({ maxFps, startMs, stepsMs }) => {
      const admitted = new Set(admittedAt(new FramePace(maxFps), startMs, stepsMs));
      let [at, last] = [0, 0];
      for (const stepMs of stepsMs) {
        at += stepMs;
        if (admitted.has(at)) last = at;
        else assert.ok(at - last < 2000 / maxFps, `none from ${last} to ${at} ms`);
      }
    }),
    { numRuns: 500 },
  );
});

test('canary: a pace that passes one frame in ten beyond the rate fails', () => {
  const leaky = (maxFps: number): { admits(timestampMs: number): boolean } => {
    const pace = new FramePace(maxFps);
    let asked = 0;
    return { admits: (at) => pace.admits(at) || (asked += 1) % 10 === 0 };
  };
  const found = fc.check(
    fc.property(stream, ({ maxFps, startMs, stepsMs }) => {
      assert.ok(excess(admittedAt(leaky(maxFps), startMs, stepsMs), maxFps) <= 2 + rounding);
    }),
    { numRuns: 500 },
  );
  assert.equal(found.failed, true);
});
