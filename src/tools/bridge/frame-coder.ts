/** Encodes pictures as a bridge sends them: H.264, JPEG, or raw. Source: calls-and-media.md, Legs. */
import { FrameTranscoder } from '../../media/codec/frame-transcoder.ts';
import type { Engine } from '../../media/codec/engine.ts';
import { describeFrame } from '../../media/geometry/source-frame.ts';
import type { Size } from '../../model/call.ts';
import { sourceSideMax } from '../../model/limits.ts';
import type { PictureFormat, PictureShape } from '../../model/media/picture.ts';

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
  return new TranscodingCoder(engine, format, framesPerSecond);
}

const planarCoder: FrameCoder = {
  format: 'i420',
  code: (payload) => ({ isKeyFrame: true, payload }),
  close: () => undefined,
};

/** JPEGs, and H.264 whose new sizes begin with a key frame. */
class TranscodingCoder implements FrameCoder {
  readonly format: PictureFormat;
  readonly #shape: PictureShape;
  readonly #transcoder: FrameTranscoder;

  constructor(engine: Engine, format: PictureFormat, maxFps: number) {
    const sourceMax = { width: sourceSideMax, height: sourceSideMax };
    this.format = format;
    this.#shape = { mode: 'auto', screen: null, format };
    this.#transcoder = new FrameTranscoder(engine, { quality: 80, maxFps, sourceMax });
  }

  code(payload: Uint8Array<ArrayBuffer>, size: Size, wantsKeyFrame: boolean): CodedFrame | null {
    const frame = { format: 'i420', isKeyFrame: true, ...size, payload } as const;
    const { pictures } = this.#transcoder.take(frame, [this.#shape], describeFrame(frame), wantsKeyFrame);
    const [picture] = pictures;
    return picture === undefined || typeof picture === 'string'
      ? null
      : { isKeyFrame: picture.isKey, payload: picture.bytes };
  }

  close(): void {
    this.#transcoder.close();
  }
}
