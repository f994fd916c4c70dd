/** Damaged packets of sound between good ones; the canaries are transcoders with plausible faults. */
import assert from 'node:assert/strict';
import { PacketTranscoder } from '../../src/media/codec/packet-transcoder.ts';
import type { Engine } from '../../src/media/codec/engine.ts';
import { liveNatives } from '../../src/media/codec/native-census.ts';
import {
  audioFrameFormats,
  type SampleShape,
  type SoundPacket,
  type SoundResult,
  type SoundShape,
} from '../../src/model/media/sound.ts';
import { engineTest } from '../support/engine-test.ts';
import { amrFixture } from '../support/amr-files.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';
import { findTones, sine } from '../support/sines.ts';

type FuzzedTranscoder = Pick<PacketTranscoder, 'transcode' | 'close'>;

interface SoundFuzz {
  readonly engine: Engine;
  readonly seed: number;
  readonly sessions: number;
  /** The transcoder under test; a canary passes a faulty one. */
  readonly open?: (engine: Engine) => FuzzedTranscoder;
}

interface SoundFuzzReport {
  /** Damaged packets, and how many of them were decoded. */
  packets: number;
  decoded: number;
  /** Runs of good packets after them. */
  comparisons: number;
}

interface Stream {
  readonly packets: readonly SoundPacket[];
  readonly assumed: SampleShape;
  readonly target: SoundShape;
  /** Output of a transcoder that has received nothing else. */
  readonly fresh: readonly SoundResult['packets'][];
  readonly tones: readonly number[];
}

const tones = [437, 1193];
const roundsOfSession = 12;
const hostilePacketsMax = 10;
/** A decoder, a resampler and an encoder per target, of which there are at most two. */
const nativesMax = 16;
const packetsOfStream = 25;
/** Packets after which decoders have recovered. */
const settledPackets = 10;

/** Throws at the first fault, with the seed and session that reproduce it. */
function fuzzSound({ engine, seed, sessions, open = makeTranscoder }: SoundFuzz): SoundFuzzReport {
  const chance = chanceFrom(seed);
  const streams = makeStreams(engine);
  const before = countNatives();
  const report = { packets: 0, decoded: 0, comparisons: 0 };
  for (let session = 1; session <= sessions; session += 1) {
    const transcoder = open(engine);
    try {
      for (let round = 1; round <= roundsOfSession; round += 1)
        playRound(transcoder, streams, chance, round, report);
    } catch (error) {
      throw new Error(`seed ${seed}, session ${session}`, { cause: error });
    } finally {
      transcoder.close();
    }
    assert.equal(countNatives(), before, `natives left behind by session ${session} of seed ${seed}`);
  }
  return report;
}

function makeTranscoder(engine: Engine): PacketTranscoder {
  return new PacketTranscoder(engine);
}

function playRound(
  transcoder: FuzzedTranscoder,
  streams: readonly Stream[],
  chance: Chance,
  round: number,
  report: SoundFuzzReport,
): void {
  for (let left = 1 + chance.below(hostilePacketsMax); left > 0; left -= 1) {
    const stream = pick(streams, chance);
    const packet = brokenPacket(pick(stream.packets, chance), chance);
    const targets = [stream.target, hostileTarget(chance)].slice(0, 1 + chance.below(2));
    const result = transcoder.transcode(
      packet,
      chance.below(4) === 0 ? hostileShape(chance) : stream.assumed,
      targets,
    );
    checkResult(result, targets.length);
    report.packets += 1;
    report.decoded += Number(result.drop === null);
    assert.ok(countNatives() <= nativesMax, `${countNatives()} natives live`);
  }
  checkStream(transcoder, pick(streams, chance), round * 10_000);
  report.comparisons += 1;
}

/** `fromMs`: far from earlier timestamps, so that a new timeline starts. */
function checkStream(transcoder: FuzzedTranscoder, stream: Stream, fromMs: number): void {
  const { packets, assumed, target, fresh } = stream;
  const heard = packets.map((packet) => {
    const moved = { ...packet, timestampMs: packet.timestampMs + fromMs };
    const { packets: made, drop } = transcoder.transcode(moved, assumed, [target]);
    assert.equal(drop, null, `a good packet of ${packet.format} behind bad ones`);
    return made;
  });
  const settled = samplesOf(heard.slice(settledPackets));
  assert.equal(settled.length, samplesOf(fresh.slice(settledPackets)).length, 'as many samples');
  const { levels } = findTones(settled, target.rate, stream.tones);
  const expected = findTones(samplesOf(fresh.slice(settledPackets)), target.rate, stream.tones).levels;
  const isRight = levels.every((level, index) => Math.abs(level / (expected[index] ?? 0) - 1) < 0.1);
  assert.ok(
    isRight,
    `good packets of ${packets[0]?.format} behind bad ones: ${levels.join()} for ${expected.join()}`,
  );
}

function checkResult({ packets, drop }: SoundResult, targets: number): void {
  assert.ok(['undecodable', 'rebuild_failed', null].includes(drop), `no drop: ${drop}`);
  assert.equal(packets.length, packets.length === 0 && drop !== null ? 0 : targets);
  for (const { payload } of packets.flat()) {
    assert.ok(payload.length > 0 && payload.length <= 3840, `${payload.length} bytes`);
    assert.equal(payload.byteLength, payload.buffer.byteLength);
  }
}

function brokenPacket({ format, timestampMs, payload }: SoundPacket, chance: Chance): SoundPacket {
  const bytes = brokenBytes(payload, chance);
  const stampMs = chance.below(3) === 0 ? chance.below(2 ** 32) : timestampMs;
  const named = chance.below(4) === 0 ? pick(audioFrameFormats, chance) : format;
  return { format: named, timestampMs: stampMs, payload: bytes };
}

function brokenBytes(payload: Uint8Array<ArrayBuffer>, chance: Chance): Uint8Array<ArrayBuffer> {
  const noise = (length: number): number[] => Array.from({ length }, () => chance.below(256));
  switch (chance.below(6)) {
    case 0:
      return new Uint8Array();
    case 1:
      return payload.slice(0, chance.below(payload.length));
    case 2:
      return new Uint8Array([...payload, ...noise(1 + chance.below(2000))]);
    case 3:
      return new Uint8Array(noise(1 + chance.below(20_000)));
    case 4:
      return new Uint8Array([...payload.subarray(0, 1), ...noise(payload.length - 1)]);
    default:
      return payload.map((byte) => (chance.below(20) === 0 ? byte ^ (1 << chance.below(8)) : byte));
  }
}

function hostileShape(chance: Chance): SampleShape {
  const numbers = [0, -1, 1, 2, 3, 0.5, 8000, 16_000, 44_100, 48_000, 2 ** 31, Number.NaN];
  return { rate: pick(numbers, chance), channels: pick(numbers, chance) };
}

function hostileTarget(chance: Chance): SoundShape {
  return { format: pick(audioFrameFormats, chance), ...hostileShape(chance) };
}

/** Packets of every format; a transcoder encodes them, another encoder AMR. */
function makeStreams(engine: Engine): readonly Stream[] {
  const narrow = { rate: 8000, channels: 1 };
  const stereo = { rate: 16_000, channels: 2 };
  const amr = (['narrow', 'wide'] as const).map((band) => amrFixture(band).slice(-75, -50));
  return [
    streamOf(engine, 'pcm', stereo, plainPackets(stereo)),
    streamOf(engine, 'alaw', narrow, codedPackets(engine, { format: 'alaw', ...narrow })),
    streamOf(engine, 'opus', narrow, codedPackets(engine, { format: 'opus', ...narrow })),
    streamOf(engine, 'opus', stereo, codedPackets(engine, { format: 'opus', ...stereo })),
    ...amr.map((frames) => streamOf(engine, 'amr', narrow, frames)),
  ];
}

function streamOf(
  engine: Engine,
  format: SoundPacket['format'],
  assumed: SampleShape,
  payloads: readonly Uint8Array<ArrayBuffer>[],
): Stream {
  const target: SoundShape = { format: 'pcm', rate: 8000, channels: 1 };
  const packets = payloads.map((payload, index) => ({ format, timestampMs: index * 20, payload }));
  const transcoder = makeTranscoder(engine);
  const fresh = packets.map((packet) => transcoder.transcode(packet, assumed, [target]).packets);
  transcoder.close();
  return { packets, assumed, target, fresh, tones };
}

function plainPackets({ rate, channels }: SampleShape): Uint8Array<ArrayBuffer>[] {
  const chords = Array.from({ length: channels }, () => tones);
  return Array.from(
    { length: packetsOfStream },
    (_, index) => new Uint8Array(sine({ rate, chords }, index * 20, 20).buffer),
  );
}

function codedPackets(engine: Engine, shape: SoundShape): Uint8Array<ArrayBuffer>[] {
  const transcoder = makeTranscoder(engine);
  const coded = plainPackets(shape).flatMap((payload, index) => {
    const packet: SoundPacket = { format: 'pcm', timestampMs: index * 20, payload };
    return transcoder.transcode(packet, shape, [shape]).packets[0] ?? [];
  });
  transcoder.close();
  return coded.map(({ payload }) => payload);
}

function samplesOf(results: readonly SoundResult['packets'][]): Int16Array {
  const packets = results.flatMap((made) => made[0] ?? []);
  return new Int16Array(new Uint8Array(Buffer.concat(packets.map(({ payload }) => payload))).buffer);
}

function pick<Item>(items: readonly Item[], chance: Chance): Item {
  const item = items[chance.below(items.length)];
  assert.ok(item !== undefined);
  return item;
}

function countNatives(): number {
  return Object.values(liveNatives()).reduce((sum: number, count: number) => sum + count, 0);
}

const seed = Number(process.env['FUZZ_SEED'] ?? 2);

engineTest(
  'broken packets of sound crash nothing, leave nothing behind, and spoil no good packet behind them',
  (engine) => {
    const { packets, decoded, comparisons } = fuzzSound({ engine, seed, sessions: 25 });
    // Noise is valid A-law and PCM, and a flipped bit of Opus is not always detected.
    assert.ok(comparisons > 0 && decoded > 0 && decoded < packets);
  },
);

engineTest(
  'the fuzzer notices a transcoder that keeps to the source it had before a broken packet',
  (engine) => {
    const open = (): FuzzedTranscoder => {
      const transcoder = makeTranscoder(engine);
      let last: Parameters<PacketTranscoder['transcode']>[1] | null = null;
      return {
        transcode: (packet, assumed, targets) => {
          const result = transcoder.transcode(packet, last ?? assumed, targets);
          last = result.drop === 'undecodable' ? assumed : null;
          return result;
        },
        close: () => transcoder.close(),
      };
    };
    assert.throws(() => fuzzSound({ engine, seed, sessions: 25, open }), /seed \d+, session \d+/);
  },
);

engineTest('the fuzzer notices a transcoder whose natives add up', (engine) => {
  const leaked: PacketTranscoder[] = [];
  const open = (): FuzzedTranscoder => {
    const transcoder = makeTranscoder(engine);
    leaked.push(transcoder);
    return { transcode: transcoder.transcode.bind(transcoder), close: () => undefined };
  };
  assert.throws(() => fuzzSound({ engine, seed, sessions: 25, open }), /natives/);
  for (const transcoder of leaked) transcoder.close();
});
