/**
 * Makes the pictures of one shape with a scaler and an encoder, which are rebuilt before the first frame of a changed source. A failure
 * costs one frame; the next one retries. Source: calls-and-media.md, Resolution.
 */
import type { Frame } from 'node-av/lib';
import type { FrameDrop, Picture, PictureFormat, PictureShape } from '../../model/media/picture.ts';
import { planPicture, type PicturePlan, reducePlan } from '../geometry/picture-plan.ts';
import type { Engine } from './engine.ts';
import {
  haveSameTraits,
  sourceSize,
  type PictureTraits,
  FilterChain,
  type FilterStep,
} from './filter-chain.ts';
import type { Size } from '../../model/call.ts';
import { picturePixelsMax } from '../../model/limits.ts';
import { isLarge, openH264Encoder, openJpegEncoder, type VideoEncoder } from './video-encoder.ts';

export interface PictureSettings {
  /** JPEG quality, 1 to 100, libjpeg's scale. */
  readonly quality: number;
  /** Frame rate that H.264 is encoded for, an integer. */
  readonly maxFps: number;
}

export class PictureMaker {
  readonly shape: PictureShape;
  readonly #engine: Engine;
  readonly #settings: PictureSettings;
  #source: PictureTraits | null = null;
  #scaler: FilterChain | null = null;
  #encoder: VideoEncoder | null = null;
  #hasBuilt = false;
  #rebuilds = 0;

  constructor(engine: Engine, shape: PictureShape, settings: PictureSettings) {
    this.#engine = engine;
    this.shape = shape;
    this.#settings = settings;
  }

  /** Scalers and encoders rebuilt because a size changed; the first ones do not count. */
  get rebuilds(): number {
    return this.#rebuilds;
  }

  make(source: Frame, traits: PictureTraits, isKeyWanted: boolean): Picture | FrameDrop {
    if (this.#source === null || !haveSameTraits(this.#source, traits)) {
      const drop = this.#rebuild(traits);
      if (drop !== null) return drop;
    }
    const scaled = this.#scaler?.filter(source) ?? null;
    const coded = scaled === null ? null : (this.#encoder?.encode(scaled, isKeyWanted) ?? null);
    if (coded !== null && this.#encoder !== null)
      return { format: this.#format, size: this.#encoder.size, ...coded };
    this.close();
    return 'rebuild_failed';
  }

  close(): void {
    this.#source = null;
    this.#scaler?.close();
    this.#scaler = null;
    this.#encoder?.close();
    this.#encoder = null;
  }

  get #format(): PictureFormat {
    return this.shape.format ?? 'mjpeg';
  }

  #rebuild(traits: PictureTraits): FrameDrop | null {
    const plan = planPicture(sourceSize(traits), this.shape);
    this.close();
    if (plan === null) return 'too_small';
    if (plan.output.width * plan.output.height > picturePixelsMax) return 'too_large';
    try {
      this.#scaler = buildScaler(this.#engine, traits, reducePlan(plan, traits.reduction), this.#format);
      this.#encoder = this.#openEncoder(plan.output);
    } catch {
      this.close();
      return 'rebuild_failed';
    }
    this.#source = traits;
    if (this.#hasBuilt) this.#rebuilds += 2;
    this.#hasBuilt = true;
    return null;
  }

  #openEncoder(size: Size): VideoEncoder {
    const { quality, maxFps } = this.#settings;
    return this.#format === 'mjpeg'
      ? openJpegEncoder(this.#engine, size, quality)
      : openH264Encoder(this.#engine, size, maxFps);
  }
}

/** Both are BT.601 and 4:2:0. H.264 has limited range, as cameras and call libraries send and players expect. */
const colours = {
  mjpeg: { range: 'full', pixels: 'yuvj420p' },
  h264: { range: 'limited', pixels: 'yuv420p' },
} as const;

/**
 * Crops the wanted part of a source picture, scales it once, and converts it to the colours of its format. A filter chain does it,
 * because libswscale alone crops only a copy. Throws what the engine throws.
 */
function buildScaler(
  engine: Engine,
  source: PictureTraits,
  { crop, output }: PicturePlan,
  format: PictureFormat,
): FilterChain {
  const { range, pixels } = colours[format];
  const isWhole = crop.width === source.width && crop.height === source.height;
  const cropping: FilterStep = ['crop', `${crop.width}:${crop.height}:${crop.x}:${crop.y}:exact=1`];
  return FilterChain.build(engine, source, [
    // Side data of a camera, such as its location, must not reach the device.
    ['sidedata', 'mode=delete'],
    ...(isWhole ? [] : [cropping]),
    [
      'scale',
      `${output.width}:${output.height}:flags=${methodOf(crop, output)}:out_range=${range}:out_color_matrix=bt601`,
    ],
    ['format', `pix_fmts=${pixels}`],
  ]);
}

/**
 * Without accurate rounding, scaling turns grey green by one step. Unscaled pictures need none, and are twice as fast without it. Area
 * averaging of a large picture to half the size or less looks the same on photographs and takes half the time.
 */
function methodOf(crop: Size, output: Size): string {
  if (crop.width === output.width && crop.height === output.height) return 'bicubic';
  const isHalf = 2 * output.width <= crop.width && 2 * output.height <= crop.height;
  return isHalf && isLarge(output) ? 'area+accurate_rnd' : 'bicubic+accurate_rnd';
}
