/**
 * H.264 and H.265: frames that build on those before them. After one that is broken or missing, all are dropped up to
 * the next key frame, since what a decoder paints over them is not what the camera saw. Of H.265 a slice whose end is cut
 * off looks like any other, to FFmpeg's decoder as well.
 * Source: calls-and-media.md, Resolution.
 */
import type { Frame } from 'node-av/lib';
import type { Size } from '../domain/call.ts';
import type { FrameDrop, SourceFrame } from '../domain/picture.ts';
import type { FrameDescription } from '../video/source-frame.ts';
import { holdsPicture, parameterSpan, type CodedFormat } from './coded-units.ts';
import { Decoder } from './decoder.ts';
import type { Engine } from './engine.ts';
import { FrameNumbers } from './frame-numbers.ts';
import type { FrameSource, SourceStep } from './frame-source.ts';

export class CodedSource implements FrameSource {
  readonly #format: CodedFormat;
  readonly #decoder: Decoder;
  readonly #numbers = new FrameNumbers();
  /** Why frames are dropped up to the next key frame; null: they are not. */
  #gap: FrameDrop | null = 'no_key_frame';
  /** The first parameter sets that the decoder was given; null: none yet. */
  #parameters: Uint8Array | null = null;
  #hasShown = false;
  /** The decoder may be left with something that a fresh one would not have. */
  #isTainted = false;

  /** Throws where the engine has no such decoder. */
  constructor(engine: Engine, format: CodedFormat, sourceMax: Size) {
    this.#format = format;
    this.#decoder = Decoder.open(engine, format, sourceMax);
  }

  get frame(): Frame {
    return this.#decoder.frame;
  }

  get keyFrameWanted(): boolean {
    return this.#gap === 'no_key_frame';
  }

  /**
   * A key frame with parameter sets needs nothing of what came before. It gets a fresh decoder where the present one
   * has seen something broken or other parameter sets: from either it may keep pictures back that it should show.
   */
  isStaleFor({ payload }: SourceFrame, { isKey, size }: FrameDescription): boolean {
    return (
      isKey && size !== null && (this.#isTainted || this.#isForeign(parameterSpan(this.#format, payload)))
    );
  }

  take(frame: SourceFrame, description: FrameDescription): SourceStep {
    const { payload } = frame;
    // Parameter sets may come in a frame of their own, before the key frame that needs them.
    if (description.isKey) this.#gap = null;
    else if (this.#gap !== null && holdsPicture(this.#format, payload)) return this.#gap;
    this.#keepParameters(parameterSpan(this.#format, payload));
    if (this.#isOneMissing(payload, description)) return this.#breakOff();
    const decoding = this.#decoder.decode(payload);
    if (decoding === 'decoded') this.#hasShown = true;
    else if (!holdsPicture(this.#format, payload)) return 'waiting';
    else if (decoding === 'broken') return this.#breakOff();
    // Pictures are kept back from the beginning, or by mistake.
    else this.#isTainted ||= this.#hasShown;
    return decoding;
  }

  skipTooLarge(): void {
    this.#breakOff();
    this.#gap = 'too_large';
  }

  close(): void {
    this.#decoder.close();
  }

  #keepParameters(parameters: Uint8Array): void {
    if (parameters.length === 0) return;
    if (this.#parameters === null) this.#parameters = parameters.slice();
    else this.#isTainted ||= this.#isForeign(parameters);
  }

  #isForeign(parameters: Uint8Array): boolean {
    return this.#parameters !== null && Buffer.compare(parameters, this.#parameters) !== 0;
  }

  #isOneMissing(payload: Uint8Array, { isKey }: FrameDescription): boolean {
    return this.#format === 'h264' && !this.#numbers.follows(payload, isKey);
  }

  #breakOff(): FrameDrop {
    this.#decoder.flush();
    this.#isTainted = true;
    this.#gap = 'no_key_frame';
    return 'undecodable';
  }
}
