/**
 * Makes JPEGs of one size and quality: baseline, 4:2:0, full range, with a JFIF header that says so.
 * Source: calls-and-media.md, Resolution.
 */
import type { CodecContext, Frame, Packet } from 'node-av/lib';
import type { Size } from '../../model/call.ts';
import { quantiserOf } from '../geometry/jpeg-quality.ts';
import type { Engine } from './engine.ts';
import { isLarge } from './large-picture.ts';
import { freeCodecContext, freePacket, makeCodecContext, makePacket } from './native-census.ts';

export class JpegEncoder {
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
    const status = context.open2Sync(codec, null);
    if (status >= 0) return new JpegEncoder(engine, context, size, frameQuality);
    freeCodecContext(context);
    throw new Error(`FFmpeg does not open its encoder of JPEGs: ${status}`);
  }

  private constructor(engine: Engine, context: CodecContext, size: Size, frameQuality: number) {
    this.size = size;
    this.#context = context;
    this.#packet = makePacket(engine);
    this.#frameQuality = frameQuality;
  }

  /** `picture`: of this size, 4:2:0 and full range. The JPEG has a buffer of its own, of its size. Null: it failed. */
  encode(picture: Frame): Uint8Array<ArrayBuffer> | null {
    picture.quality = this.#frameQuality;
    picture.pts = this.#pictures++;
    if (this.#context.sendFrameSync(picture) < 0) return null;
    if (this.#context.receivePacketSync(this.#packet) < 0) return null;
    const jpeg = this.#packet.data;
    this.#packet.unref();
    return jpeg === null ? null : new Uint8Array(jpeg);
  }

  close(): void {
    freeCodecContext(this.#context);
    freePacket(this.#packet);
  }
}
