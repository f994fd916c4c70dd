/** MJPEG: every frame is a JPEG and stands alone. Source: calls-and-media.md, Resolution. */
import type { Frame } from 'node-av/lib';
import type { Size } from '../domain/call.ts';
import type { SourceFrame } from '../domain/picture.ts';
import { Decoder } from './decoder.ts';
import type { Engine } from './engine.ts';
import type { FrameSource, SourceStep } from './frame-source.ts';

const startOfScan = Buffer.of(0xff, 0xda);
const endOfImage = Buffer.of(0xff, 0xd9);

export class JpegSource implements FrameSource {
  readonly keyFrameWanted = false;
  readonly #decoder: Decoder;

  /** Throws where the engine has no such decoder. */
  constructor(engine: Engine, sourceMax: Size) {
    this.#decoder = Decoder.open(engine, 'mjpeg', sourceMax);
  }

  get frame(): Frame {
    return this.#decoder.frame;
  }

  isStaleFor(): boolean {
    return false;
  }

  take({ payload }: SourceFrame): SourceStep {
    if (!isWholeJpeg(payload)) return 'undecodable';
    return this.#decoder.decode(payload) === 'decoded' ? 'decoded' : 'undecodable';
  }

  skipTooLarge(): void {
    // The next frame does not build on this one.
  }

  close(): void {
    this.#decoder.close();
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
