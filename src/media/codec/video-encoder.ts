/**
 * Makes H.264 as players of calls take it, and as a phone's encoder does: constrained baseline, no delay, parameter sets in
 * front of every key frame. libx264, whose options are set by name. Source: calls-and-media.md, The media process.
 */
import type { CodecContext, Frame, Packet } from 'node-av/lib';
import type { Size } from '../../model/call.ts';
import type { Engine } from './engine.ts';
import {
  freeCodecContext,
  freePacket,
  makeCodecContext,
  makePacket,
  openCodecContext,
} from './native-census.ts';

export interface CodedPicture {
  /** A JPEG, or an Annex B access unit, in a buffer of its own, of its size. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isKey: boolean;
}

/** The encoder of pictures of one size. */
export interface VideoEncoder {
  readonly size: Size;
  /** `picture`: of this size, 4:2:0. Null: it failed. */
  encode(picture: Frame, isKeyWanted: boolean): CodedPicture | null;
  close(): void;
}

export class H264Encoder implements VideoEncoder {
  readonly size: Size;
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #engine: Engine;
  #pictures = 0n;

  /** `size`: even sides. `maxFps`: whole. Throws what the engine throws where it has no such encoder, or of another size. */
  static open(engine: Engine, size: Size, maxFps: number): H264Encoder {
    return new H264Encoder(engine, size, openContext(engine, size, maxFps));
  }

  private constructor(engine: Engine, size: Size, context: CodecContext) {
    this.#engine = engine;
    this.size = size;
    this.#context = context;
    this.#packet = makePacket(engine);
  }

  /** `picture`: limited range. */
  encode(picture: Frame, isKeyWanted: boolean): CodedPicture | null {
    const { AV_PICTURE_TYPE_I, AV_PICTURE_TYPE_NONE } = this.#engine.constants;
    picture.pts = this.#pictures++;
    picture.pictType = isKeyWanted ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    if (this.#context.sendFrameSync(picture) < 0) return null;
    if (this.#context.receivePacketSync(this.#packet) < 0) return null;
    const bytes = this.#packet.data;
    const { isKeyframe } = this.#packet;
    this.#packet.unref();
    return bytes === null ? null : { bytes: new Uint8Array(bytes), isKey: isKeyframe };
  }

  close(): void {
    freeCodecContext(this.#context);
    freePacket(this.#packet);
  }
}

/** x264's constant rate factor, and bits of a pixel at the highest frame rate, beyond which quality gives way. */
const rateFactor = 23;
export const h264BitsPerPixelMax = 0.2;
/** Of the highest rate, what one picture may take at once. */
const burstSeconds = 1;
/** At the highest frame rate, without a key frame. */
const keySecondsMax = 10;

/** Quality is even, up to a rate that follows from the size; a source that is slower than `maxFps` has less of it. */
function openContext(engine: Engine, size: Size, maxFps: number): CodecContext {
  const { av, constants } = engine;
  const codec = av.Codec.findEncoderByName(constants.FF_ENCODER_LIBX264);
  if (codec === null) throw new Error('FFmpeg has no encoder of H.264 here');
  const context = makeCodecContext(engine, codec);
  const bitsPerSecond = Math.ceil(size.width * size.height * maxFps * h264BitsPerPixelMax);
  context.width = size.width;
  context.height = size.height;
  context.pixelFormat = constants.AV_PIX_FMT_YUV420P;
  context.colorRange = constants.AVCOL_RANGE_MPEG;
  context.colorSpace = constants.AVCOL_SPC_SMPTE170M;
  context.timeBase = new av.Rational(1, maxFps);
  context.framerate = new av.Rational(maxFps, 1);
  context.threadCount = 1;
  context.rcMaxRate = BigInt(bitsPerSecond);
  context.rcBufferSize = bitsPerSecond * burstSeconds;
  context.gopSize = maxFps * keySecondsMax;
  context.maxBFrames = 0;
  context.setOption('preset', 'ultrafast');
  context.setOption('tune', 'zerolatency');
  context.setOption('profile', 'baseline');
  context.setOption('crf', String(rateFactor));
  context.setOption('forced-idr', '1');
  openCodecContext(context, codec, 'its encoder of H.264');
  return context;
}
