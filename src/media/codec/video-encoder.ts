/**
 * Makes H.264 of I420, as a phone's encoder does: baseline, no delay, parameter sets in front of every key frame. For
 * simulated bridges and tests; no call needs it. Source: calls-and-media.md, Legs.
 */
import type { CodecContext, Packet } from 'node-av/lib';
import { assert } from '../../lib/assert.ts';
import type { Size } from '../../model/call.ts';
import type { Engine } from './engine.ts';
import { freeCodecContext, freePacket, makeCodecContext, makePacket } from './native-census.ts';
import { PlanarSource } from './frame-source.ts';

export interface VideoEncoding {
  /** Both sides even. */
  readonly size: Size;
  readonly framesPerSecond: number;
  readonly bitsPerSecond: number;
}

export interface CodedPicture {
  /** An Annex B access unit in a buffer of its own. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isKey: boolean;
}

/** Key frames come where they are asked for, and after so many seconds. */
const secondsBetweenKeys = 10;

export class H264Encoder {
  readonly #size: Size;
  readonly #context: CodecContext;
  readonly #packet: Packet;
  readonly #planes: PlanarSource;
  readonly #engine: Engine;
  #pictures = 0n;

  /** Throws where the engine has no such encoder, or it does not take the size. */
  constructor(engine: Engine, encoding: VideoEncoding) {
    this.#engine = engine;
    this.#size = encoding.size;
    this.#context = openContext(engine, encoding);
    this.#packet = makePacket(engine);
    this.#planes = new PlanarSource(engine);
  }

  /** `i420`: planes without padding, limited range. Null: the encoder gave nothing for it. */
  encode(i420: Uint8Array<ArrayBuffer>, isKeyWanted: boolean): CodedPicture | null {
    const { width, height } = this.#size;
    const step = this.#planes.take({ format: 'i420', isKeyFrame: true, width, height, payload: i420 });
    assert(step === 'decoded', 'a picture to encode has the size of its encoder');
    const { AV_PICTURE_TYPE_I, AV_PICTURE_TYPE_NONE } = this.#engine.constants;
    const { frame } = this.#planes;
    frame.pts = this.#pictures++;
    frame.pictType = isKeyWanted ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    if (this.#context.sendFrameSync(frame) < 0) return null;
    if (this.#context.receivePacketSync(this.#packet) < 0) return null;
    const bytes = this.#packet.data;
    const { isKeyframe } = this.#packet;
    this.#packet.unref();
    return bytes === null ? null : { bytes: new Uint8Array(bytes), isKey: isKeyframe };
  }

  close(): void {
    freeCodecContext(this.#context);
    freePacket(this.#packet);
    this.#planes.close();
  }
}

function openContext(engine: Engine, { size, framesPerSecond, bitsPerSecond }: VideoEncoding): CodecContext {
  const { av, constants } = engine;
  const codec = av.Codec.findEncoderByName(constants.FF_ENCODER_LIBX264);
  if (codec === null) throw new Error('FFmpeg has no encoder of H.264 here');
  const context = makeCodecContext(engine, codec);
  context.width = size.width;
  context.height = size.height;
  context.pixelFormat = constants.AV_PIX_FMT_YUV420P;
  context.colorRange = constants.AVCOL_RANGE_MPEG;
  context.timeBase = new av.Rational(1, framesPerSecond);
  context.framerate = new av.Rational(framesPerSecond, 1);
  context.threadCount = 1;
  context.bitRate = BigInt(bitsPerSecond);
  context.gopSize = framesPerSecond * secondsBetweenKeys;
  context.maxBFrames = 0;
  context.setOption('preset', 'ultrafast');
  context.setOption('tune', 'zerolatency');
  context.setOption('profile', 'baseline');
  context.setOption('forced-idr', '1');
  const status = context.open2Sync(codec, null);
  if (status >= 0) return context;
  freeCodecContext(context);
  throw new Error(`FFmpeg does not open its encoder of H.264: ${status}`);
}
