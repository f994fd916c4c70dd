/**
 * Makes the pictures of one shape: a scaler and an encoder, made anew whenever the source changes, before the frame that
 * changed is used. A failure costs that frame, and the next one tries again. Source: calls-and-media.md, Resolution.
 */
import type { Frame, CodecContext, Packet } from 'node-av/lib';
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
import { quantiserOf } from '../geometry/jpeg.ts';
import {
  freeCodecContext,
  freePacket,
  makeCodecContext,
  makePacket,
  openCodecContext,
} from './native-census.ts';
import { H264Encoder, type CodedPicture, type VideoEncoder } from './video-encoder.ts';

export interface PictureSettings {
  /** Of JPEGs, 1 to 100, libjpeg's scale. */
  readonly quality: number;
  /** That H.264 is made for, whole. */
  readonly maxFps: number;
}

export class PictureMaker {
  readonly shape: PictureShape;
  readonly #engine: Engine;
  readonly #settings: PictureSettings;
  /** What the scaler was made for; null: there is none. */
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

  /** Scalers and encoders made anew, since a size changed; the first ones are none of them. */
  get rebuilds(): number {
    return this.#rebuilds;
  }

  /** `isKeyWanted`: it is to build on nothing before it. */
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

  /** Frees what it holds; it can go on, with what it then makes anew. */
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
      ? JpegEncoder.open(this.#engine, size, quality)
      : H264Encoder.open(this.#engine, size, maxFps);
  }
}

/** BT.601 and 4:2:0 both; cameras and call libraries send limited range, as players of H.264 take it. */
const colours = {
  mjpeg: { range: 'full', pixels: 'yuvj420p' },
  h264: { range: 'limited', pixels: 'yuv420p' },
} as const;

/**
 * Takes the wanted part of a source picture, scales it once and gives it the colours of its format. A chain of filters does it, since libswscale alone crops only what was copied before. Throws what the engine
 * throws.
 */
export function buildScaler(
  engine: Engine,
  source: PictureTraits,
  { crop, output }: PicturePlan,
  format: PictureFormat,
): FilterChain {
  const { range, pixels } = colours[format];
  const isWhole = crop.width === source.width && crop.height === source.height;
  const cropping: FilterStep = ['crop', `${crop.width}:${crop.height}:${crop.x}:${crop.y}:exact=1`];
  return FilterChain.build(engine, source, [
    // What a camera wrote beside the pixels, its place among it, is none of the device's business.
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
 * Without accurate rounding a scaled grey turns green by one step; unscaled it is right, and twice as fast. A large picture
 * of half the size or less is averaged, which on photographs looks the same there and takes half the time.
 */
function methodOf(crop: Size, output: Size): string {
  if (crop.width === output.width && crop.height === output.height) return 'bicubic';
  const isHalf = 2 * output.width <= crop.width && 2 * output.height <= crop.height;
  return isHalf && isLarge(output) ? 'area+accurate_rnd' : 'bicubic+accurate_rnd';
}

/** Makes JPEGs of one size and quality: baseline, 4:2:0, full range, with a JFIF header that says so. */
export class JpegEncoder implements VideoEncoder {
  readonly size: Size;
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #frameQuality: number;
  #pictures = 0n;

  /** `quality`: 1 to 100, libjpeg's scale. Throws what the engine throws. */
  static open(engine: Engine, size: Size, quality: number): JpegEncoder {
    const { constants, av } = engine;
    const codec = av.Codec.findEncoder(constants.AV_CODEC_ID_MJPEG);
    if (codec === null) throw new Error('FFmpeg has no encoder of JPEGs');
    const context = makeCodecContext(engine, codec);
    const frameQuality = quantiserOf(quality) * constants.FF_QP2LAMBDA;
    context.width = size.width;
    context.height = size.height;
    context.pixelFormat = constants.AV_PIX_FMT_YUVJ420P;
    context.colorRange = constants.AVCOL_RANGE_JPEG;
    context.timeBase = new av.Rational(1, 1000);
    context.threadCount = 1;
    // Square pixels are what makes the encoder write a JFIF header; BITEXACT leaves out a line about the encoder.
    context.sampleAspectRatio = new av.Rational(1, 1);
    context.setFlags(constants.AV_CODEC_FLAG_QSCALE, constants.AV_CODEC_FLAG_BITEXACT);
    context.globalQuality = frameQuality;
    context.qMin = 1;
    // Tables of its own make a small picture smaller by a tenth and more; a large one only takes them longer.
    context.setOption('huffman', isLarge(size) ? 'default' : 'optimal');
    openCodecContext(context, codec, 'its encoder of JPEGs');
    return new JpegEncoder(engine, context, size, frameQuality);
  }

  private constructor(engine: Engine, context: CodecContext, size: Size, frameQuality: number) {
    this.size = size;
    this.#context = context;
    this.#packet = makePacket(engine);
    this.#frameQuality = frameQuality;
  }

  /** `picture`: full range. */
  encode(picture: Frame): CodedPicture | null {
    picture.quality = this.#frameQuality;
    picture.pts = this.#pictures++;
    if (this.#context.sendFrameSync(picture) < 0) return null;
    if (this.#context.receivePacketSync(this.#packet) < 0) return null;
    const jpeg = this.#packet.data;
    this.#packet.unref();
    return jpeg === null ? null : { bytes: new Uint8Array(jpeg), isKey: true };
  }

  close(): void {
    freeCodecContext(this.#context);
    freePacket(this.#packet);
  }
}

/**
 * Pixels: above it time is saved, below it bytes and sharpness. A large picture costs the worker most of its time; a
 * small one has few bytes, and each counts. Source: docs/reference/benchmarks.md, Pictures.
 */
const smallAreaMax = 50_000;

function isLarge({ width, height }: Size): boolean {
  return width * height > smallAreaMax;
}
