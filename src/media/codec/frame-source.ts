/**
 * Frame sources: each decodes the frames of one format, says what came of each, and holds the newest picture. Frames of
 * MJPEG and I420 stand alone; those of H.264 and H.265 build on the ones before. Source: calls-and-media.md, Legs and
 * Resolution.
 */
import type { Frame } from 'node-av/lib';
import type {
  FrameDescription,
  FrameDrop,
  PictureShape,
  SourceFrame,
  FrameContent,
} from '../../model/media/picture.ts';
import { type Reduction, reductionFor } from '../geometry/picture-plan.ts';
import { i420Bytes, parameterSpan, type CodedFormat } from '../geometry/source-frame.ts';
import type { Engine } from './engine.ts';
import { freeFrame, makeFrame } from './native-census.ts';
import type { Size } from '../../model/call.ts';
import { Decoder } from './decoder.ts';
import { H264Frames } from '../geometry/h264-stream.ts';
import { isBoundedJpeg } from '../geometry/jpeg.ts';
import { PictureParts } from '../geometry/h265-parts.ts';

/** `waiting`: no picture yet, and nothing is wrong. */
export type SourceStep = 'decoded' | 'waiting' | FrameDrop;

export interface FrameSource {
  /** The picture that was decoded last; its pixels stay until the next frame is taken. */
  readonly frame: Frame;
  /** That picture is smaller than the source by it. */
  readonly reduction: Reduction;
  /** The next frames are of no use before a key frame. */
  readonly keyFrameWanted: boolean;
  /** For this frame a new source does better. */
  isStaleFor(frame: SourceFrame, description: FrameDescription): boolean;
  /** `shapes`: of the pictures that are to be made of it. */
  take(frame: SourceFrame, description: FrameDescription, shapes: readonly PictureShape[]): SourceStep;
  /** A frame was too large to be decoded, or to be used. */
  skipTooLarge(): void;
  /** Frees what it holds; nothing is asked of it any more. */
  close(): void;
}

/** I420: planes as they are, not decoded. Limited range and BT.601, as cameras and call libraries have them. */
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

/** As the decoder counts it: sides are halved so often. */
const quarterOfSides = 2;
const startOfScan = Buffer.of(0xff, 0xda);
const endOfImage = Buffer.of(0xff, 0xd9);

/** MJPEG: every frame is a JPEG. */
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
    if (!isWholeJpeg(payload) || !isBoundedJpeg(payload)) return 'undecodable';
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

  /** False: also where there is no such decoder for now. */
  #decodeSmaller(payload: Uint8Array<ArrayBuffer>): boolean {
    try {
      this.#quarter ??= Decoder.open(this.#engine, 'mjpeg', this.#sourceMax, quarterOfSides);
    } catch {
      return false;
    }
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
  return end !== -1 && !bytes.includes(startOfScan, end);
}

/**
 * H.264 and H.265: after a frame that is broken or missing, all are dropped up to the next key frame, since what a decoder
 * paints over them is not what the camera saw. Of H.265 a slice that is missing is noticed; one that
 * is cut off or overwritten looks like any other, to FFmpeg's decoder as well, unless the sender adds a hash of its picture.
 */
export class CodedSource implements FrameSource {
  readonly reduction = 1;
  readonly #format: CodedFormat;
  readonly #decoder: Decoder;
  readonly #numbers = new H264Frames();
  readonly #parts = new PictureParts();
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
    return this.#format === 'h264' ? !this.#numbers.areWhole(payload, isKey) : !this.#parts.areWhole(payload);
  }

  #breakOff(): FrameDrop {
    this.#decoder.flush();
    this.#isTainted = true;
    this.#isKeyDue = false;
    this.#gap = 'no_key_frame';
    return 'undecodable';
  }
}
