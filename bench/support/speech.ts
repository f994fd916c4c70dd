/** Something like speech, in the formats of calls: a voice of many tones that rises and falls, and breathes. */
import { PacketTranscoder } from '../../src/media/codec/packet-transcoder.ts';
import type { Engine } from '../../src/media/codec/engine.ts';
import type { SampleShape, SoundShape } from '../../src/model/media/sound.ts';
import { chanceFrom } from '../../test/support/seeded-random.ts';

export interface SoundPair {
  readonly from: SoundShape;
  readonly to: SoundShape;
}

const narrow = { rate: 8000, channels: 1 };
const wide = { rate: 16_000, channels: 1 };

/** A bridge's PCM or Opus to what devices ask for; a device's A-law to a bridge, and to a browser. */
export const soundPairs: readonly SoundPair[] = [
  { from: { format: 'pcm', ...wide }, to: { format: 'alaw', ...narrow } },
  { from: { format: 'opus', ...wide }, to: { format: 'alaw', ...narrow } },
  { from: { format: 'alaw', ...narrow }, to: { format: 'pcm', ...wide } },
  { from: { format: 'pcm', ...wide }, to: { format: 'opus', ...wide } },
  { from: { format: 'alaw', ...narrow }, to: { format: 'opus', rate: 48_000, channels: 2 } },
  { from: { format: 'opus', ...wide }, to: { format: 'amr', ...narrow } },
];

export function nameOfPair({ from, to }: SoundPair): string {
  return [from, to].map(({ format, rate, channels }) => `${format} ${rate / 1000}k/${channels}`).join(' to ');
}

/** Packets of 20 ms. */
export function speechPackets(engine: Engine, shape: SoundShape, count: number): Uint8Array<ArrayBuffer>[] {
  const pcm = speech(shape, count);
  if (shape.format === 'pcm') return pcm;
  const transcoder = new PacketTranscoder(engine);
  const packets = pcm.flatMap((payload, index) => {
    const packet = { format: 'pcm', timestampMs: index * 20, payload } as const;
    return transcoder.take(packet, shape, [shape]).packets[0] ?? [];
  });
  transcoder.close();
  return packets.map(({ payload }) => payload);
}

function speech({ rate, channels }: SampleShape, count: number): Uint8Array<ArrayBuffer>[] {
  const chance = chanceFrom(1);
  const moments = rate / 50;
  let turns = 0;
  return Array.from({ length: count }, (_, packet) => {
    const samples = new Int16Array(moments * channels);
    for (let moment = 0; moment < moments; moment += 1) {
      const seconds = (packet * moments + moment) / rate;
      turns += (130 + 30 * Math.sin(4 * seconds)) / rate;
      const loudness = 2500 * Math.max(0, Math.sin(9 * seconds) + 0.4);
      let voice = 0.15 * (chance.next() - 0.5);
      for (let tone = 1; tone <= 12; tone += 1) voice += Math.sin(2 * Math.PI * tone * turns) / tone;
      samples.fill(Math.round(loudness * voice), moment * channels, (moment + 1) * channels);
    }
    return new Uint8Array(samples.buffer);
  });
}
