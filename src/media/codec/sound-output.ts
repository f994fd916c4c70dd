/**
 * One way in which a source's sound goes out: its blocks in the channels, the rate and the format of a target. Source:
 * calls-and-media.md, Legs.
 */
import type { SoftwareResampleContext } from 'node-av/lib';
import type { MadeSound, SampleShape, SoundShape } from '../../model/media/sound.ts';
import { soundBlockMs } from '../../model/media/sound-limits.ts';
import { withChannels } from '../sound/channels.ts';
import type { SoundBlock } from '../sound/sound-timeline.ts';
import type { Engine } from './engine.ts';
import { freeNatives, makeResampler } from './native-census.ts';
import { openSoundEncoder, type SoundEncoder } from './sound-encoder.ts';

export class SoundOutput {
  readonly target: SoundShape;
  readonly #source: SampleShape;
  readonly #encoder: SoundEncoder;
  /** Null: the rate is the source's. */
  readonly #resampler: Resampler | null;

  /** Throws where the engine has no encoder of it, or does not take its rate. */
  constructor(engine: Engine, source: SampleShape, target: SoundShape) {
    this.target = target;
    this.#source = source;
    const channels = Math.min(source.channels, channelsOf(target));
    this.#resampler =
      source.rate === target.rate
        ? null
        : new Resampler(engine, { rate: source.rate, channels }, target.rate);
    try {
      this.#encoder = openSoundEncoder(engine, { ...target, channels: channelsOf(target) });
    } catch (error) {
      this.#resampler?.close();
      throw error;
    }
  }

  /** A packet of each block, but for those that the encoder fails at. */
  make(blocks: readonly SoundBlock[]): MadeSound[] {
    return blocks.flatMap(({ timestampMs, samples }) => {
      const payload = this.#encoder.encode(this.#shaped(samples));
      return payload === null ? [] : [{ timestampMs, payload }];
    });
  }

  close(): void {
    this.#encoder.close();
    this.#resampler?.close();
  }

  /** Resampled while the channels are fewest. */
  #shaped(samples: Int16Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
    const { channels } = this.#source;
    const outChannels = channelsOf(this.target);
    const fewest = Math.min(channels, outChannels);
    const mixed = withChannels(samples, channels, fewest);
    return withChannels(this.#resampler?.convert(mixed) ?? mixed, fewest, outChannels);
  }
}

/** AMR has one. */
function channelsOf({ format, channels }: SoundShape): number {
  return format === 'amr' ? 1 : channels;
}

/** From blocks of 20 ms to blocks of 20 ms. The first comes out a little shorter, by the reach of the filter: silence stands in front of it. */
class Resampler {
  readonly #context: SoftwareResampleContext;
  readonly #moments: number;
  readonly #toMoments: number;
  readonly #toSamples: number;

  constructor(engine: Engine, from: SampleShape, toRate: number) {
    this.#context = makeResampler(engine, from, toRate);
    this.#moments = (from.rate * soundBlockMs) / 1000;
    this.#toMoments = (toRate * soundBlockMs) / 1000;
    this.#toSamples = this.#toMoments * from.channels;
  }

  convert({ buffer, byteOffset, byteLength }: Int16Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
    const block = new Int16Array(this.#toSamples);
    const made = this.#context.convertSync(
      [Buffer.from(block.buffer)],
      this.#toMoments,
      [Buffer.from(buffer, byteOffset, byteLength)],
      this.#moments,
    );
    const missing = this.#toSamples - (Math.max(0, made) * this.#toSamples) / this.#toMoments;
    block.copyWithin(missing, 0).fill(0, 0, missing);
    return block;
  }

  close(): void {
    freeNatives(this.#context);
  }
}
