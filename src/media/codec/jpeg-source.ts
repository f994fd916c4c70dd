/** MJPEG: every frame is a JPEG and stands alone. Source: calls-and-media.md, Resolution. */
import type { Frame } from 'node-av/lib';
import type { Size } from '../../model/call.ts';
import type { PictureShape, SourceFrame } from '../../model/picture.ts';
import { reductionFor, type Reduction } from '../geometry/reduction.ts';
import type { FrameDescription } from '../geometry/source-frame.ts';
import { Decoder } from './decoder.ts';
import type { Engine } from './engine.ts';
import type { FrameSource, SourceStep } from './frame-source.ts';

/** As the decoder counts it: sides are halved so often. */
const quarterOfSides = 2;
const startOfScan = Buffer.of(0xff, 0xda);
const endOfImage = Buffer.of(0xff, 0xd9);

export class JpegSource implements FrameSource {
  readonly keyFrameWanted = false;
  readonly #engine: Engine;
  readonly #sourceMax: Size;
  readonly #whole: Decoder;
  /** Made when it is first of use. */
  #quarter: Decoder | null = null;
  #reduction: Reduction = 1;

  /** Throws where the engine has no such decoder. */
  constructor(engine: Engine, sourceMax: Size) {
    this.#engine = engine;
    this.#sourceMax = sourceMax;
    this.#whole = Decoder.open(engine, 'mjpeg', sourceMax);
  }

  get frame(): Frame {
    return (this.#reduction === 1 ? this.#whole : (this.#quarter ?? this.#whole)).frame;
  }

  get reduction(): Reduction {
    return this.#reduction;
  }

  isStaleFor(): boolean {
    return false;
  }

  /** What cannot be decoded smaller, as progressive ones, is decoded as it is. */
  take({ payload }: SourceFrame, { size }: FrameDescription, shapes: readonly PictureShape[]): SourceStep {
    if (!isWholeJpeg(payload)) return 'undecodable';
    this.#reduction = size === null ? 1 : reductionFor(size, shapes);
    if (this.#reduction > 1 && this.#decodeSmaller(payload)) return 'decoded';
    this.#reduction = 1;
    return this.#whole.decode(payload) === 'decoded' ? 'decoded' : 'undecodable';
  }

  skipTooLarge(): void {
    // The next frame does not build on this one.
  }

  close(): void {
    this.#whole.close();
    this.#quarter?.close();
  }

  #decodeSmaller(payload: Uint8Array<ArrayBuffer>): boolean {
    this.#quarter ??= Decoder.open(this.#engine, 'mjpeg', this.#sourceMax, quarterOfSides);
    return this.#quarter.decode(payload) === 'decoded';
  }
}

/**
 * Whether its last scan has an end: the decoder takes a picture whose last blocks are cut off, and makes them up. What
 * lies behind the end does not matter, and thumbnails lie before the first scan.
 */
function isWholeJpeg(payload: Uint8Array<ArrayBuffer>): boolean {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const end = bytes.lastIndexOf(endOfImage);
  return end !== -1 && end > bytes.lastIndexOf(startOfScan);
}
