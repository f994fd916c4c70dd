/**
 * Picture encoders. JPEG: baseline, 4:2:0, full range, with a JFIF header that says so. H.264, as players of calls expect and phones
 * encode it: constrained baseline, no delay, parameter sets before every key frame; by libx264, whose options are set by name. Source:
 * calls-and-media.md, The media process.
 */
import type { CodecContext, Frame, Packet } from 'node-av/lib';
import type { Size } from '../../model/call.ts';
import { quantiserOf } from '../geometry/jpeg.ts';
import type { Engine } from './engine.ts';
import { freeNatives, makePacket, openCodec } from './native-census.ts';

export interface CodedPicture {
  /** A JPEG or an Annex B access unit, alone in its buffer. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isKey: boolean;
}

export class VideoEncoder {
  readonly size: Size;
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #prepare: (picture: Frame, isKeyWanted: boolean) => void;
  #pictures = 0n;

  constructor(
    engine: Engine,
    size: Size,
    context: CodecContext,
    prepare: (picture: Frame, isKeyWanted: boolean) => void,
  ) {
    this.size = size;
    this.#context = context;
    this.#packet = makePacket(engine);
    this.#prepare = prepare;
  }

  /** `picture`: of this size, 4:2:0; full range for JPEG, limited range for H.264. Null: it failed. */
  encode(picture: Frame, isKeyWanted: boolean): CodedPicture | null {
    this.#prepare(picture, isKeyWanted);
    picture.pts = this.#pictures++;
    if (this.#context.sendFrameSync(picture) < 0) return null;
    if (this.#context.receivePacketSync(this.#packet) < 0) return null;
    const { data, isKeyframe } = this.#packet;
    this.#packet.unref();
    return data === null ? null : { bytes: new Uint8Array(data), isKey: isKeyframe };
  }

  close(): void {
    freeNatives(this.#context, this.#packet);
  }
}

/**
 * Pixels. Larger pictures are encoded for speed, smaller ones for size and sharpness: a large picture costs most of the worker's time,
 * and in a small one every byte counts. Source: docs/reference/benchmarks.md, Pictures.
 */
const smallAreaMax = 50_000;

export function isLarge({ width, height }: Size): boolean {
  return width * height > smallAreaMax;
}

/** `quality`: 1 to 100, libjpeg's scale. Throws what the engine throws. */
export function openJpegEncoder(engine: Engine, size: Size, quality: number): VideoEncoder {
  const { constants, av } = engine;
  const frameQuality = quantiserOf(quality) * constants.FF_QP2LAMBDA;
  const codec = av.Codec.findEncoder(constants.AV_CODEC_ID_MJPEG);
  const opened = openCodec(engine, codec, 'encoder of JPEGs', (context) => {
    context.width = size.width;
    context.height = size.height;
    context.pixelFormat = constants.AV_PIX_FMT_YUVJ420P;
    context.colorRange = constants.AVCOL_RANGE_JPEG;
    context.timeBase = new av.Rational(1, 1000);
    // Square pixels make the encoder write a JFIF header; BITEXACT omits a line about the encoder.
    context.sampleAspectRatio = new av.Rational(1, 1);
    context.setFlags(constants.AV_CODEC_FLAG_QSCALE, constants.AV_CODEC_FLAG_BITEXACT);
    context.globalQuality = frameQuality;
    context.qMin = 1;
    // Optimal tables save a tenth or more of a small picture; for a large one they only cost time.
    context.setOption('huffman', isLarge(size) ? 'default' : 'optimal');
  });
  return new VideoEncoder(engine, size, opened, (picture) => (picture.quality = frameQuality));
}

/** x264's constant rate factor, and bits per pixel at the highest frame rate, above which quality drops. */
const rateFactor = 23;
const bitsPerPixelMax = 0.2;
/** Seconds of the highest rate that one picture may use at once. */
const burstSeconds = 1;
/** Maximum seconds between key frames at the highest frame rate. */
const keySecondsMax = 10;

/**
 * Constant quality, up to a bit rate that follows from the size; a source slower than `maxFps` uses less. `size`: even sides. `maxFps`:
 * an integer. Throws if the engine has no such encoder, or not for this size.
 */
export function openH264Encoder(engine: Engine, size: Size, maxFps: number): VideoEncoder {
  const { av, constants } = engine;
  const codec = av.Codec.findEncoderByName(constants.FF_ENCODER_LIBX264);
  const opened = openCodec(engine, codec, 'encoder of H.264', (context) => {
    const bitsPerSecond = Math.ceil(size.width * size.height * maxFps * bitsPerPixelMax);
    context.width = size.width;
    context.height = size.height;
    context.pixelFormat = constants.AV_PIX_FMT_YUV420P;
    context.colorRange = constants.AVCOL_RANGE_MPEG;
    context.colorSpace = constants.AVCOL_SPC_SMPTE170M;
    context.timeBase = new av.Rational(1, maxFps);
    context.framerate = new av.Rational(maxFps, 1);
    context.rcMaxRate = BigInt(bitsPerSecond);
    context.rcBufferSize = bitsPerSecond * burstSeconds;
    context.gopSize = maxFps * keySecondsMax;
    context.maxBFrames = 0;
    context.setOption('preset', 'ultrafast');
    context.setOption('tune', 'zerolatency');
    context.setOption('profile', 'baseline');
    context.setOption('crf', String(rateFactor));
    context.setOption('forced-idr', '1');
  });
  const { AV_PICTURE_TYPE_I, AV_PICTURE_TYPE_NONE } = constants;
  return new VideoEncoder(engine, size, opened, (picture, isKeyWanted) => {
    picture.pictType = isKeyWanted ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
  });
}
