/** Encodes pictures as a bridge sends them: H.264, JPEG, or raw. Source: calls-and-media.md, Legs. */
import { FrameTranscoder } from '../../media/codec/frame-transcoder.ts';
import type { Engine } from '../../media/codec/engine.ts';
import { H264Encoder } from '../../media/codec/video-encoder.ts';
import { describeFrame } from '../../media/geometry/source-frame.ts';
import type { Size } from '../../model/call.ts';
import { sourceSideMax } from '../../model/limits.ts';

export const playedFormats = ['h264', 'mjpeg', 'i420'] as const;
export type PlayedFormat = (typeof playedFormats)[number];

export interface CodedFrame {
  readonly isKeyFrame: boolean;
  readonly payload: Uint8Array;
}

export interface FrameCoder {
  readonly format: PlayedFormat;
  /** `picture`: I420 of this size, whose sides are even. Null: the engine made nothing of it. */
  code(picture: Uint8Array<ArrayBuffer>, size: Size, wantsKeyFrame: boolean): CodedFrame | null;
  /** Frees what it holds. */
  close(): void;
}

/** `engine`: null only for I420. `framesPerSecond`: whole. */
export function openFrameCoder(
  engine: Engine | null,
  format: PlayedFormat,
  framesPerSecond: number,
): FrameCoder {
  if (engine === null || format === 'i420') return planarCoder;
  return format === 'h264' ? new H264Coder(engine, framesPerSecond) : new JpegCoder(engine);
}

const planarCoder: FrameCoder = {
  format: 'i420',
  code: (payload) => ({ isKeyFrame: true, payload }),
  close: () => undefined,
};

/** Enough for what phones send, at any size. */
const bitsPerPixel = 0.15;

class H264Coder implements FrameCoder {
  readonly format = 'h264';
  readonly #engine: Engine;
  readonly #framesPerSecond: number;
  #made: { readonly encoder: H264Encoder; readonly size: Size } | null = null;

  constructor(engine: Engine, framesPerSecond: number) {
    this.#engine = engine;
    this.#framesPerSecond = framesPerSecond;
  }

  /** A new size begins with a key frame. */
  code(picture: Uint8Array<ArrayBuffer>, size: Size, wantsKeyFrame: boolean): CodedFrame | null {
    const coded = this.#encoderOf(size).encode(picture, wantsKeyFrame);
    return coded === null ? null : { isKeyFrame: coded.isKey, payload: coded.bytes };
  }

  close(): void {
    this.#made?.encoder.close();
    this.#made = null;
  }

  #encoderOf(size: Size): H264Encoder {
    if (this.#made?.size.width === size.width && this.#made.size.height === size.height)
      return this.#made.encoder;
    this.close();
    const framesPerSecond = this.#framesPerSecond;
    const bitsPerSecond = Math.round(size.width * size.height * framesPerSecond * bitsPerPixel);
    const encoder = new H264Encoder(this.#engine, { size, framesPerSecond, bitsPerSecond });
    this.#made = { encoder, size };
    return encoder;
  }
}

class JpegCoder implements FrameCoder {
  readonly format = 'mjpeg';
  readonly #transcoder: FrameTranscoder;

  constructor(engine: Engine) {
    const sourceMax = { width: sourceSideMax, height: sourceSideMax };
    this.#transcoder = new FrameTranscoder(engine, { quality: 80, sourceMax });
  }

  code(payload: Uint8Array<ArrayBuffer>, size: Size): CodedFrame | null {
    const frame = { format: 'i420', isKeyFrame: true, ...size, payload } as const;
    const { pictures } = this.#transcoder.take(frame, [{ mode: 'auto', screen: null }], describeFrame(frame));
    const [picture] = pictures;
    return picture === undefined || typeof picture === 'string'
      ? null
      : { isKeyFrame: true, payload: picture.jpeg };
  }

  close(): void {
    this.#transcoder.close();
  }
}
