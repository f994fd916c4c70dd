/**
 * Sound through every pair of formats: sines encoded by other programs are converted, the result is decoded by FFmpeg of another build,
 * and frequency, level and channels of the sines are measured in it. Source: calls-and-media.md, Legs.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { openEngine } from '../../src/media/codec/engine.ts';
import { PacketTranscoder } from '../../src/media/codec/packet-transcoder.ts';
import type { SoundPacket, SoundShape } from '../../src/model/media/sound.ts';
import { amrFile, amrFixture, amrTones } from '../support/amr-files.ts';
import { runTool } from '../support/debian-tools.ts';
import { opusPackets } from '../support/opus-file.ts';
import { channelOf, findTones, sine, sineLevel, strongestTone } from '../support/sines.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const headBytes = 27;
const granulesPerPacket = 960;
const serial = 1;

/** An Ogg stream of packets of 20 ms, each in a page of its own. */
function opusFile(packets: readonly Uint8Array[], channels: number): Buffer {
  const head = Buffer.from('OpusHead\x01\0\0\0\0\0\0\0\0\0\0', 'latin1');
  head.writeUInt8(channels, 9);
  head.writeUInt32LE(48_000, 12);
  const tags = Buffer.from('OpusTags\x04\0\0\0test\0\0\0\0', 'latin1');
  const pages = [head, tags, ...packets].map((packet, number, all) => {
    const isLast = number === all.length - 1;
    return page(packet, number, Math.max(0, number - 1) * granulesPerPacket, isLast);
  });
  return Buffer.concat(pages);
}

function page(packet: Uint8Array, number: number, granule: number, isLast: boolean): Buffer {
  const lengths = [...Array<number>(Math.floor(packet.length / 255)).fill(255), packet.length % 255];
  const head = Buffer.alloc(headBytes);
  head.write('OggS', 'latin1');
  head.writeUInt8((number === 0 ? 2 : 0) | (isLast ? 4 : 0), 5);
  head.writeBigUInt64LE(BigInt(granule), 6);
  head.writeUInt32LE(serial, 14);
  head.writeUInt32LE(number, 18);
  head.writeUInt8(lengths.length, 26);
  const whole = Buffer.concat([head, Buffer.from(lengths), packet]);
  whole.writeUInt32LE(checksum(whole), 22);
  return whole;
}

/** CRC-32 of the polynomial 04c11db7, neither reflected nor inverted. */
function checksum(bytes: Uint8Array): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) sum = sum < 0 ? (sum << 1) ^ 0x04c1_1db7 : sum << 1;
  }
  return sum >>> 0;
}

const directory = temporaryDirectory({ after });
const soundMs = 1000;
/** Start and end of the output are not judged: decoders and filters start with silence, and hold some samples back. */
const [startMs, endMs] = [400, 100];
/**
 * Frequencies of the left, or only, channel and of the right one. Two each, because a decoder of AMR interprets a single one as a voice
 * and attenuates it. None divides any rate, or rounding errors would repeat.
 */
const chords = [amrTones, [617, 1511]];

/** Signal-to-noise ratio that each format keeps, in decibels; the noise of both formats of a pair adds up. */
const snrMin = { pcm: 60, alaw: 33, opus: 12, amr: 12 };
/** Tolerance of the level, as a fraction of it. */
const levelOff = { pcm: 0.01, alaw: 0.01, opus: 0.15, amr: 0.3 };
/** Decibels of a channel's own tone above the other channel's. */
const apartMin = { pcm: 55, alaw: 45, opus: 26, amr: Infinity };

interface SoundInput extends SoundShape {
  readonly packets: readonly Uint8Array<ArrayBuffer>[];
}

const targets: readonly SoundShape[] = [
  ...(['pcm', 'alaw', 'opus'] as const).flatMap((format) =>
    [8000, 16_000].flatMap((rate) => [1, 2].map((channels) => ({ format, rate, channels }))),
  ),
  { format: 'opus', rate: 48_000, channels: 2 },
  { format: 'amr', rate: 8000, channels: 1 },
];

function nameOf({ format, rate, channels }: SoundShape): string {
  return `${format} ${rate / 1000} kHz in ${channels}`;
}

async function inputOf(shape: SoundShape): Promise<SoundInput> {
  const { format, rate, channels } = shape;
  const samples = Buffer.from(sine({ rate, chords: chords.slice(0, channels) }, 0, soundMs).buffer);
  if (format === 'pcm') return { ...shape, packets: cut(samples, (rate / 50) * 2 * channels) };
  const raw = ['-f', 's16le', '-ar', String(rate), '-ac', String(channels), '-i', 'pipe:0'];
  const encoding = format === 'alaw' ? ['-f', 'alaw'] : ['-c:a', 'libopus', '-b:a', '48k', '-f', 'ogg'];
  const coded = await runTool('ffmpeg', ['-v', 'error', ...raw, ...encoding, 'pipe:1'], samples);
  if (format === 'alaw') return { ...shape, packets: cut(coded, (rate / 50) * channels) };
  return { ...shape, packets: opusPackets(coded).map((packet) => new Uint8Array(packet)) };
}

function cut(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer>[] {
  const count = Math.floor(bytes.length / length);
  return Array.from({ length: count }, (_, index) => bytes.slice(index * length, (index + 1) * length));
}

/** The output for every target, as a file that FFmpeg reads. */
async function transcode(
  { format, rate, channels, packets }: SoundInput,
  into = targets,
): Promise<Uint8Array[][]> {
  const engine = await openEngine();
  assert.ok(engine.ok);
  const transcoder = new PacketTranscoder(engine.value);
  const made: Uint8Array[][] = into.map(() => []);
  for (const [index, payload] of packets.entries()) {
    const packet: SoundPacket = { format, timestampMs: index * 20, payload };
    const result = transcoder.transcode(packet, { rate, channels }, into);
    assert.equal(result.drop, null);
    for (const [target, ofTarget] of result.packets.entries())
      made[target]?.push(...ofTarget.map((one) => one.payload));
  }
  transcoder.close();
  return made;
}

/** All of them at once: a process takes longer to start than to decode a second. */
async function decodeAll(made: readonly (readonly Uint8Array[])[]): Promise<Int16Array[]> {
  const inputs: string[] = [];
  const outputs: string[] = [];
  for (const [index, { format, rate, channels }] of targets.entries()) {
    const [coded, raw] = [join(directory, `${index}.coded`), join(directory, `${index}.raw`)];
    const packets = made[index] ?? [];
    const shape = ['-ar', String(rate), '-ac', String(channels)];
    writeFileSync(
      coded,
      format === 'opus'
        ? opusFile(packets, channels)
        : format === 'amr'
          ? amrFile(packets)
          : Buffer.concat(packets),
    );
    const plain = {
      pcm: ['-f', 's16le', ...shape],
      alaw: ['-f', 'alaw', ...shape],
      opus: ['-c:a', 'opus', '-f', 'ogg'],
      amr: ['-f', 'amr'],
    };
    inputs.push(...plain[format], '-i', coded);
    outputs.push('-map', `${index}:a`, '-f', 's16le', ...shape, raw);
  }
  await runTool('ffmpeg', ['-v', 'error', '-y', '-nostdin', ...inputs, ...outputs]);
  return targets.map((_, index) => {
    return samplesOf(readFileSync(join(directory, `${index}.raw`)));
  });
}

function samplesOf(bytes: Uint8Array): Int16Array {
  return new Int16Array(new Uint8Array(bytes).buffer);
}

function judge(t: TestContext, input: SoundShape, target: SoundShape, samples: Int16Array): void {
  const { rate, channels } = target;
  const pair = `${nameOf(input)} to ${nameOf(target)}`;
  const rest = 10 ** (-snrMin[input.format] / 10) + 10 ** (-snrMin[target.format] / 10);
  const snrWanted = Math.floor(-10 * Math.log10(rest));
  const off = Math.max(levelOff[input.format], levelOff[target.format]);
  const isMixed = input.channels > channels;
  const tones = isMixed ? chords.flat() : amrTones;
  const expected = sineLevel / tones.length;
  assert.ok(
    samples.length >= (channels * rate * (soundMs - endMs)) / 1000,
    `${pair}: ${samples.length} samples`,
  );
  for (let channel = 0; channel < channels; channel += 1) {
    const where = `${pair}, channel ${channel}`;
    const heard = channelOf(samples, channel, channels).subarray(
      (startMs * rate) / 1000,
      ((soundMs - endMs) * rate) / 1000,
    );
    const own = channel === 1 && input.channels === 2 ? (chords[1] ?? []) : tones;
    const { levels, snr } = findTones(heard, rate, own);
    for (const level of levels)
      assert.ok(Math.abs(level / expected - 1) < off, `${where}: level ${level} for ${expected}`);
    assert.ok(snr > snrWanted, `${where}: ${snr.toFixed(1)} dB, wanted ${snrWanted}`);
    const strongest = strongestTone(heard, rate);
    assert.ok(
      own.some((tone) => Math.abs(strongest - tone) <= 2),
      `${where}: ${strongest} Hz of ${own.join(', ')}`,
    );
    const worst = Math.max(...levels.map((level) => Math.abs(level / expected - 1)));
    t.diagnostic(`${where}: ${snr.toFixed(1)} dB, level within ${(worst * 100).toFixed(1)} %`);
    if (channels === 1 || input.channels === 1) continue;
    const others = findTones(heard, rate, chords[1 - channel] ?? []).levels;
    const apart = 20 * Math.log10(expected / Math.max(...others, 1e-6));
    const apartWanted = Math.min(apartMin[input.format], apartMin[target.format]);
    assert.ok(apart > apartWanted, `${where}: ${apart.toFixed(1)} dB from the other, wanted ${apartWanted}`);
  }
}

async function prove(t: TestContext, input: SoundInput): Promise<void> {
  const decoded = await decodeAll(await transcode(input));
  for (const [index, target] of targets.entries())
    judge(t, input, target, decoded[index] ?? new Int16Array());
}

for (const format of ['pcm', 'alaw', 'opus'] as const)
  for (const rate of [8000, 16_000])
    for (const channels of [1, 2])
      test(`a sine in ${nameOf({ format, rate, channels })} is measured in every format`, async (t) =>
        prove(t, await inputOf({ format, rate, channels })));

const amrBands = [
  { band: 'narrow', rate: 8000, kinds: 8 },
  { band: 'wide', rate: 16_000, kinds: 9 },
] as const;
/** Frames of each kind of speech, one kind after the other. */
const framesOfKind = 25;

for (const { band, rate, kinds } of amrBands) {
  test(`a sine in AMR of the ${band} band is measured in every format`, async (t) => {
    const end = kinds * framesOfKind;
    const packets = amrFixture(band).slice(end - soundMs / 20, end);
    await prove(t, { format: 'amr', rate, channels: 1, packets });
  });

  test(`every kind of AMR frame of the ${band} band is decoded as FFmpeg of another build does`, async () => {
    const packets = amrFixture(band).slice(0, kinds * framesOfKind);
    const raw = ['-f', 's16le', 'pipe:1'];
    const expected = await runTool(
      'ffmpeg',
      ['-v', 'error', '-f', 'amr', '-i', 'pipe:0', ...raw],
      amrFile(packets, band),
    );
    const [made = []] = await transcode({ format: 'amr', rate, channels: 1, packets }, [
      { format: 'pcm', rate, channels: 1 },
    ]);
    const [ours, theirs] = [samplesOf(Buffer.concat(made)), samplesOf(expected)];
    assert.equal(ours.length, packets.length * (rate / 50));
    assert.equal(theirs.length, ours.length);
    assert.ok(ours.every((sample, at) => Math.abs(sample - (theirs[at] ?? 0)) <= 1));
  });
}
