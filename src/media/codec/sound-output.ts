/** One output of a source's sound: its blocks in the channels, rate and format of a target. Source: calls-and-media.md, Legs. */
import type { SoftwareResampleContext } from 'node-av/lib';
import type { MadeSound, SampleShape, SoundShape } from '../../model/media/sound.ts';
import { soundBlockMs } from '../../model/media/sound-limits.ts';
import { withChannels } from '../sound/channels.ts';
import type { SoundBlock } from '../sound/sound-timeline.ts';
import { engineFor, type Engine } from './engine.ts';
import { freeNatives, makeResampler } from './native-census.ts';
import { openSoundEncoder, type SoundEncoder } from './sound-encoder.ts';

export class SoundOutput {
  readonly target: SoundShape;
  readonly #source: SampleShape;
  readonly #encoder: SoundEncoder;
  readonly #resampler: Resampler | null;

  /**
   * Throws if the engine has no encoder for the target, or does not support its rate. `engine`: null allows A-law and PCM of the
   * source's rate only.
   */
  constructor(engine: Engine | null, source: SampleShape, target: SoundShape) {
    this.target = target;
    this.#source = source;
    const channels = Math.min(source.channels, channelsOf(target));
    this.#resampler =
      source.rate === target.rate
        ? null
        : new Resampler(engineFor('other rate', engine), { rate: source.rate, channels }, target.rate);
    try {
      this.#encoder = openSoundEncoder(engine, { ...target, channels: channelsOf(target) });
    } catch (error) {
      this.#resampler?.close();
      throw error;
    }
  }

  /** One packet for each block, except those that the encoder fails on. */
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

  #shaped(samples: Int16Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
    const { channels } = this.#source;
    const outChannels = channelsOf(this.target);
    const fewest = Math.min(channels, outChannels);
    const mixed = withChannels(samples, channels, fewest);
    return withChannels(this.#resampler?.convert(mixed) ?? mixed, fewest, outChannels);
  }
}

function channelsOf({ format, channels }: SoundShape): number {
  return format === 'amr' ? 1 : channels;
}

/** Converts blocks of 20 ms. The first result is a little shorter, by the reach of the filter, and is padded with leading silence. */
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
