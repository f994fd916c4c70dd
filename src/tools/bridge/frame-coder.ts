/** Encodes pictures as a bridge sends them: H.264, with a key frame at each new size, or JPEG. Source: calls-and-media.md, Legs. */
import { FrameTranscoder } from '../../media/codec/frame-transcoder.ts';
import type { Engine } from '../../media/codec/engine.ts';
import { describeFrame } from '../../media/geometry/source-frame.ts';
import type { Size } from '../../model/call.ts';
import { sourceSideMax } from '../../model/limits.ts';
import type { PictureFormat, PictureShape } from '../../model/media/picture.ts';

export const playedFormats = ['h264', 'mjpeg'] as const satisfies readonly PictureFormat[];

export class FrameCoder {
  readonly format: PictureFormat;
  readonly #shape: PictureShape;
  readonly #transcoder: FrameTranscoder;

  /** `maxFps`: an integer. */
  constructor(engine: Engine, format: PictureFormat, maxFps: number) {
    const sourceMax = { width: sourceSideMax, height: sourceSideMax };
    this.format = format;
    this.#shape = { mode: 'auto', screen: null, format };
    this.#transcoder = new FrameTranscoder(engine, { quality: 80, maxFps, sourceMax });
  }

  /** `payload`: I420 of this size, with even sides. Null: the encoder returned no frame. */
  code(
    payload: Uint8Array<ArrayBuffer>,
    size: Size,
    wantsKeyFrame: boolean,
  ): { readonly isKeyFrame: boolean; readonly payload: Uint8Array } | null {
    const frame = { format: 'i420', isKeyFrame: true, ...size, payload } as const;
    const { pictures } = this.#transcoder.transcode(
      frame,
      [this.#shape],
      describeFrame(frame),
      wantsKeyFrame,
    );
    const [picture] = pictures;
    return picture === undefined || typeof picture === 'string'
      ? null
      : { isKeyFrame: picture.isKey, payload: picture.bytes };
  }

  close(): void {
    this.#transcoder.close();
  }
}
