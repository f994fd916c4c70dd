/**
 * I420: planes as they are, which nobody has to decode. Limited range and BT.601, as cameras and call libraries have
 * them. Source: calls-and-media.md, Legs.
 */
import type { Frame } from 'node-av/lib';
import type { SourceFrame } from '../../model/picture.ts';
import { i420Bytes } from '../geometry/i420.ts';
import type { Engine } from './engine.ts';
import type { FrameSource, SourceStep } from './frame-source.ts';
import { freeFrame, makeFrame } from './native-census.ts';

export class PlanarSource implements FrameSource {
  readonly keyFrameWanted = false;
  readonly reduction = 1;
  readonly frame: Frame;
  /** Points into the payload, for as long as it takes to copy the planes. */
  readonly #view: Frame;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#view = makeFrame(engine);
    this.frame = makeFrame(engine);
  }

  isStaleFor(): boolean {
    return false;
  }

  take({ payload, width, height }: SourceFrame): SourceStep {
    if (width < 1 || height < 1 || payload.length !== i420Bytes({ width, height })) return 'undecodable';
    const { AV_PIX_FMT_YUV420P, AVCOL_RANGE_MPEG, AVCOL_SPC_SMPTE170M } = this.#engine.constants;
    this.#view.width = width;
    this.#view.height = height;
    this.#view.format = AV_PIX_FMT_YUV420P;
    this.#view.colorRange = AVCOL_RANGE_MPEG;
    this.#view.colorSpace = AVCOL_SPC_SMPTE170M;
    this.#view.fromBuffer(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength));
    this.frame.unref();
    // A frame without memory of its own is copied where it is referred to.
    const status = this.frame.ref(this.#view);
    this.#view.unref();
    return status < 0 ? 'undecodable' : 'decoded';
  }

  skipTooLarge(): void {
    // The next frame does not build on this one.
  }

  close(): void {
    freeFrame(this.#view);
    freeFrame(this.frame);
  }
}
