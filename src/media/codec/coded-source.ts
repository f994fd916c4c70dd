/**
 * H.264 and H.265: frames that build on those before them. After one that is broken or missing, all are dropped up to
 * the next key frame, since what a decoder paints over them is not what the camera saw. Of H.265 a slice that is cut off or
 * overwritten looks like any other, to FFmpeg's decoder as well.
 * Source: calls-and-media.md, Resolution.
 */
import type { Frame } from 'node-av/lib';
import type { Size } from '../../model/call.ts';
import type { FrameContent, FrameDescription, FrameDrop, SourceFrame } from '../../model/picture.ts';
import { parameterSpan, type CodedFormat } from '../geometry/source-frame.ts';
import { Decoder } from './decoder.ts';
import type { Engine } from './engine.ts';
import { FrameNumbers } from '../geometry/h264-stream.ts';
import type { FrameSource, SourceStep } from './frame-source.ts';

export class CodedSource implements FrameSource {
  readonly reduction = 1;
  readonly #format: CodedFormat;
  readonly #decoder: Decoder;
  readonly #numbers = new FrameNumbers();
  /** Why frames are dropped up to the next key frame; null: they are not. */
  #gap: FrameDrop | null = 'no_key_frame';
  /** The first parameter sets that the decoder was given; null: none yet. */
  #parameters: Uint8Array | null = null;
  #hasShown = false;
  /** Other parameter sets came without a picture: the one behind them begins anew, or was lost in what came. */
  #isKeyDue = false;
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
    const { isKey, content } = description;
    if (isKey) this.#gap = null;
    // Parameter sets may come in a frame of their own, before the key frame that needs them.
    else if (this.#gap !== null && content !== 'parameters') return this.#gap;
    if (content === 'nothing' || this.#isOneMissing(payload, description)) return this.#breakOff();
    this.#keepParameters(parameterSpan(this.#format, payload), content);
    const decoding = this.#decoder.decode(payload);
    if (decoding === 'decoded') this.#hasShown = true;
    else if (content === 'parameters') return 'waiting';
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

  #keepParameters(parameters: Uint8Array, content: FrameContent): void {
    if (content === 'picture') this.#isKeyDue = false;
    if (parameters.length === 0) return;
    if (this.#parameters === null) this.#parameters = parameters.slice();
    else if (this.#isForeign(parameters)) {
      this.#isTainted = true;
      this.#isKeyDue = content === 'parameters';
    }
  }

  #isForeign(parameters: Uint8Array): boolean {
    return this.#parameters !== null && Buffer.compare(parameters, this.#parameters) !== 0;
  }

  #isOneMissing(payload: Uint8Array, { isKey, content }: FrameDescription): boolean {
    if (this.#isKeyDue && !isKey && content === 'picture') return true;
    return this.#format === 'h264' && !this.#numbers.follows(payload, isKey);
  }

  #breakOff(): FrameDrop {
    this.#decoder.flush();
    this.#isTainted = true;
    this.#isKeyDue = false;
    this.#gap = 'no_key_frame';
    return 'undecodable';
  }
}
