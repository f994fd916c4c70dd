import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SoundTimeline, type SoundBlock } from '../../src/media/sound/sound-timeline.ts';
import { soundBlockMs, soundJumpMs, soundPacketMsMax } from '../../src/model/media/sound-limits.ts';

const minutes = 10;
/** Interval between clicks, milliseconds. */
const clickMs = 6000;
const click = 20_000;

interface ClockCase {
  readonly rate: number;
  readonly packetMs: number;
  /** Drift of the sampling clock against the clock of the timestamps. */
  readonly partsPerMillion: number;
  readonly jitterMs: number;
  readonly seed: number;
}

const clockCase: fc.Arbitrary<ClockCase> = fc.record({
  rate: fc.constantFrom(8000, 16_000),
  packetMs: fc.constantFrom(10, 20, 30, 60),
  partsPerMillion: fc.integer({ min: -200, max: 200 }),
  jitterMs: fc.integer({ min: 0, max: 20 }),
  seed: fc.nat(),
});

type Take = (timestampMs: number, samples: Int16Array<ArrayBuffer>) => readonly SoundBlock[];

/** Maximum deviation of a click from its moment in ten minutes, milliseconds. */
function driftMs({ rate, packetMs, partsPerMillion, jitterMs, seed }: ClockCase, take: Take): number {
  const moments = (packetMs * rate) / 1000;
  const random = randomOf(seed);
  const heardMs: number[] = [];
  const clicksMs: number[] = [];
  let [stampMs, worstMs] = [0, 0];
  for (let packet = 0; packet * packetMs < minutes * 60_000; packet++) {
    const beginMs = (packet * packetMs) / (1 + partsPerMillion / 1e6);
    const samples = new Int16Array(moments);
    if ((packet * packetMs) % clickMs === 0) {
      samples[0] = click;
      clicksMs.push(beginMs);
    }
    // A late packet gets a late timestamp, and never one before that of an earlier packet.
    stampMs = Math.max(stampMs, Math.round(1000 + beginMs + random() * jitterMs));
    for (const block of take(stampMs, samples)) {
      const at = block.samples.findIndex((sample) => sample > click / 2);
      if (at !== -1) heardMs.push(block.timestampMs + (at / rate) * 1000);
    }
  }
  assert.equal(heardMs.length, clicksMs.length, 'every click is found once');
  for (const [index, ms] of heardMs.entries())
    worstMs = Math.max(worstMs, Math.abs(ms - 1000 - (clicksMs[index] ?? 0)));
  return worstMs;
}

function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('whatever the clock of the source, sound stays within 40 ms of its moment for ten minutes', () => {
  fc.assert(
    fc.property(clockCase, (clock) => {
      const timeline = new SoundTimeline({ rate: clock.rate, channels: 1 });
      const worstMs = driftMs(clock, (stampMs, samples) => timeline.push(stampMs, samples));
      assert.ok(worstMs < 40, `${worstMs} ms`);
    }),
    // Packets of 10 ms at 8000 Hz are shorter than one change of a moment.
    {
      numRuns: 12,
      examples: [[{ rate: 8000, packetMs: 10, partsPerMillion: 168, jitterMs: 7, seed: 299_858_435 }]],
    },
  );
});

test('canary: packets that are only cut to 20 ms drift beyond 40 ms', () => {
  const timeline = new SoundTimeline({ rate: 8000, channels: 1 });
  let exactMs = 1000;
  const worstMs = driftMs(
    { rate: 8000, packetMs: 20, partsPerMillion: 200, jitterMs: 0, seed: 1 },
    (_, samples) => {
      exactMs += 20;
      return timeline.push(exactMs - 20, samples);
    },
  );
  assert.ok(worstMs > 40, `${worstMs} ms`);
});

const anyPacket = fc.record({
  stepMs: fc.oneof(
    fc.integer({ min: -40, max: 80 }),
    fc.integer({ min: -2000, max: 2000 }),
    fc.constantFrom(0, 20, 2 ** 31, -(2 ** 31)),
  ),
  moments: fc.integer({ min: 1, max: (8000 * soundPacketMsMax) / 1000 }),
});

test('for any timestamps, blocks have 20 ms, are contiguous, and cover no more than the packet and its gap', () => {
  fc.assert(
    fc.property(fc.array(anyPacket, { maxLength: 60 }), fc.constantFrom(1, 2), (packets, channels) => {
      const timeline = new SoundTimeline({ rate: 8000, channels });
      let [timestampMs, last] = [0, -1];
      const stamps = new Set<number>();
      for (const { stepMs, moments } of packets) {
        timestampMs = (timestampMs + stepMs) >>> 0;
        if (timeline.isOutOfTurn(timestampMs)) continue;
        stamps.add(timestampMs);
        const blocks = timeline.push(timestampMs, new Int16Array(moments * channels));
        const mostMs = (moments / 8) * 1.01 + soundJumpMs + soundBlockMs;
        assert.ok(blocks.length * soundBlockMs <= mostMs, `${blocks.length} blocks`);
        for (const block of blocks) {
          assert.equal(block.samples.length, 160 * channels);
          const isNext = block.timestampMs === (last + soundBlockMs) >>> 0;
          const isNew = block === blocks[0] && stamps.has(block.timestampMs);
          assert.ok(isNext || isNew, `${block.timestampMs} behind ${last}`);
          last = block.timestampMs;
        }
      }
    }),
  );
});
