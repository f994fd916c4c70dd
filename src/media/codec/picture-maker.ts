/**
 * Pictures of one shape: a scaler and an encoder, made anew whenever the source changes, before the frame that changed
 * is used. One that cannot be made costs that frame, and the next one tries again. Source: calls-and-media.md, Resolution.
 */
import type { Frame } from 'node-av/lib';
import type { FrameDrop, Picture, PictureShape } from '../../model/picture.ts';
import { planPicture } from '../geometry/picture-plan.ts';
import { reducePlan } from '../geometry/reduction.ts';
import type { Engine } from './engine.ts';
import { haveSameTraits, sourceSize, type FilterChain, type PictureTraits } from './filter-chain.ts';
import { JpegEncoder } from './jpeg-encoder.ts';
import { buildScaler } from './scaler.ts';

export class PictureMaker {
  readonly shape: PictureShape;
  readonly #engine: Engine;
  readonly #quality: number;
  /** What the scaler was made for; null: there is none. */
  #source: PictureTraits | null = null;
  #scaler: FilterChain | null = null;
  #encoder: JpegEncoder | null = null;
  #rebuilds = 0;

  constructor(engine: Engine, shape: PictureShape, quality: number) {
    this.#engine = engine;
    this.shape = shape;
    this.#quality = quality;
  }

  /** Scalers and encoders made so far. */
  get rebuilds(): number {
    return this.#rebuilds;
  }

  make(source: Frame, traits: PictureTraits): Picture | FrameDrop {
    if (this.#source === null || !haveSameTraits(this.#source, traits)) {
      const drop = this.#rebuild(traits);
      if (drop !== null) return drop;
    }
    const scaled = this.#scaler?.filter(source) ?? null;
    const jpeg = scaled === null ? null : (this.#encoder?.encode(scaled) ?? null);
    if (jpeg !== null && this.#encoder !== null) return { size: this.#encoder.size, jpeg };
    this.close();
    return 'rebuild_failed';
  }

  /** Frees what it holds; it can go on, with what it then makes anew. */
  close(): void {
    this.#source = null;
    this.#scaler?.close();
    this.#scaler = null;
    this.#encoder?.close();
    this.#encoder = null;
  }

  #rebuild(traits: PictureTraits): FrameDrop | null {
    const plan = planPicture(sourceSize(traits), this.shape);
    this.close();
    if (plan === null) return 'too_small';
    try {
      this.#scaler = buildScaler(this.#engine, traits, reducePlan(plan, traits.reduction));
      this.#encoder = JpegEncoder.open(this.#engine, plan.output, this.#quality);
    } catch {
      this.close();
      return 'rebuild_failed';
    }
    this.#source = traits;
    this.#rebuilds += 2;
    return null;
  }
}
