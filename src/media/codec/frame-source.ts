/**
 * Frame sources: each decodes the frames of one format, reports the result, and keeps the newest picture. MJPEG and I420 frames are
 * independent; H.264 and H.265 frames depend on earlier ones. Source: calls-and-media.md, Legs and Resolution.
 */
import type { Frame } from 'node-av/lib';
import type {
  FrameDescription,
  FrameDrop,
  PictureShape,
  SourceFrame,
  UndecodableCause,
} from '../../model/media/picture.ts';
import { type Reduction, reductionFor } from '../geometry/picture-plan.ts';
import { i420Bytes, startsAnew, syntaxes, type CodedFormat } from '../geometry/source-frame.ts';
import type { Engine } from './engine.ts';
import { freeNatives, makeFrame } from './native-census.ts';
import type { Size } from '../../model/call.ts';
import { Decoder } from './decoder.ts';
import { H264Frames } from '../geometry/h264-stream.ts';
import { findJpeg, type JpegPicture } from '../geometry/jpeg-picture.ts';
import { PictureParts } from '../geometry/h265-parts.ts';
import { ParameterSets } from '../geometry/parameter-sets.ts';
import type { FrameCheck } from '../geometry/decoding-work.ts';

/** `waiting`: no picture yet, and no fault. */
export type SourceStep = 'decoded' | 'waiting' | FrameDrop | UndecodableCause;

export interface FrameSource {
  /** The latest decoded picture; its pixels are valid until the next `decode`. */
  readonly frame: Frame;
  /** Factor by which that picture is smaller than the source. */
  readonly reduction: Reduction;
  /** The next frames cannot be shown before a key frame. */
  readonly keyFrameWanted: boolean;
  decode(frame: SourceFrame, description: FrameDescription, shapes: readonly PictureShape[]): SourceStep;
  /** Skips a frame that was too large to decode or to use; later frames may depend on it. */
  skipTooLarge?(): void;
  /** Frees its native objects; it must not be used afterwards. */
  close(): void;
}

/** I420: planes as they are, without decoding. Limited range and BT.601, as cameras and call libraries use. */
export class PlanarSource implements FrameSource {
  readonly keyFrameWanted = false;
  readonly reduction = 1;
  readonly frame: Frame;
  /** Points into the payload while the planes are copied. */
  readonly #view: Frame;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#view = makeFrame(engine);
    this.frame = makeFrame(engine);
  }

  decode({ payload, width, height }: SourceFrame): SourceStep {
    if (width < 1 || height < 1 || payload.length !== i420Bytes({ width, height })) return 'undecodable';
    const { AV_PIX_FMT_YUV420P, AVCOL_RANGE_MPEG, AVCOL_SPC_SMPTE170M } = this.#engine.constants;
    this.#view.width = width;
    this.#view.height = height;
    this.#view.format = AV_PIX_FMT_YUV420P;
    this.#view.colorRange = AVCOL_RANGE_MPEG;
    this.#view.colorSpace = AVCOL_SPC_SMPTE170M;
    this.#view.fromBuffer(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength));
    this.frame.unref();
    // A reference to a frame that does not own its memory copies it.
    const status = this.frame.ref(this.#view);
    this.#view.unref();
    return status < 0 ? 'undecodable' : 'decoded';
  }

  close(): void {
    freeNatives(this.#view, this.frame);
  }
}

/** The decoder's unit: the number of times that sides are halved. */
const quarterOfSides = 2;
const endOfImage = Buffer.of(0xff, 0xd9);
/** Data appended to a scan: as many zeros, or ones, as the longest code needs. */
const fillers = [Buffer.alloc(32), Buffer.alloc(64, 'ff00', 'hex')] as const;

export class JpegSource implements FrameSource {
  readonly keyFrameWanted = false;
  readonly #engine: Engine;
  readonly #sourceMax: Size;
  readonly #whole: Decoder;
  #quarter: Decoder | null = null;
  #reduction: Reduction = 1;

  /** Throws where the engine has no such decoder. */
  constructor(engine: Engine, sourceMax: Size) {
    this.#engine = engine;
    this.#sourceMax = sourceMax;
    this.#whole = new Decoder(engine, 'mjpeg', sourceMax);
  }

  get frame(): Frame {
    return (this.#reduction === 1 ? this.#whole : (this.#quarter ?? this.#whole)).frame;
  }

  get reduction(): Reduction {
    return this.#reduction;
  }

  decode(
    { payload }: SourceFrame,
    _description: FrameDescription,
    shapes: readonly PictureShape[],
  ): SourceStep {
    const found = findJpeg(payload);
    this.#reduction = 1;
    if (typeof found === 'string') return found;
    if (found.isEnded) return this.#decode(found.pictures[0], shapes) ? 'decoded' : 'undecodable';
    return found.pictures.some(({ bytes }) => this.#decodeUnended(bytes)) ? 'decoded' : 'cut';
  }

  close(): void {
    this.#whole.close();
    this.#quarter?.close();
  }

  /** A picture that cannot be decoded at reduced size, such as a progressive one, is decoded at full size. */
  #decode({ bytes, size, chromaStep }: JpegPicture, shapes: readonly PictureShape[]): boolean {
    this.#reduction = size === null ? 1 : reductionFor(size, shapes, chromaStep);
    if (this.#reduction > 1 && this.#decodeSmaller(bytes)) return true;
    this.#reduction = 1;
    return this.#whole.decode(bytes) === 'decoded';
  }

  /** False also if the decoder cannot be opened now. */
  #decodeSmaller(payload: Uint8Array<ArrayBuffer>): boolean {
    try {
      this.#quarter ??= new Decoder(this.#engine, 'mjpeg', this.#sourceMax, quarterOfSides);
    } catch {
      return false;
    }
    return this.#quarter.decode(payload) === 'decoded';
  }

  /** Decoders invent missing blocks, so the last scan is complete only if the picture does not depend on the bytes after it. */
  #decodeUnended(bytes: Uint8Array): boolean {
    const scans = withoutFill(bytes);
    const pictures = fillers.map((filler) => {
      const isDecoded = this.#whole.decode(Buffer.concat([scans, filler, endOfImage])) === 'decoded';
      return isDecoded ? this.#whole.frame.toBuffer() : null;
    });
    const [one = null, other = null] = pictures;
    return one !== null && other !== null && one.equals(other);
  }
}

/** Removes the zeros that pad a buffer, except the first, which may be data; or the beginning of a marker. */
function withoutFill(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (bytes[end - 1] === 0) end -= 1;
  if (end < bytes.length) return bytes.subarray(0, end + 1);
  while (bytes[end - 1] === 0xff) end -= 1;
  return bytes.subarray(0, end);
}

/**
 * H.264 and H.265, from a key frame on. Passes every picture that the decoder returns, even if parts are concealed. Requests a key frame
 * after damage, and until one arrives.
 */
export class CodedSource implements FrameSource {
  readonly reduction = 1;
  readonly #engine: Engine;
  readonly #format: CodedFormat;
  readonly #sourceMax: Size;
  readonly #sets: ParameterSets;
  #decoder: Decoder;
  #checks = new AccessUnitChecks();
  /** Reason to drop frames up to the next key frame; null: none are dropped. */
  #gap: FrameDrop | null = 'no_key_frame';
  #keyFrameWanted = false;
  #hasShown = false;
  #hasOtherSets = false;
  /** The decoder may hold back pictures that a new one would return. */
  #isTainted = false;

  /** Throws where the engine has no such decoder. */
  constructor(engine: Engine, format: CodedFormat, sourceMax: Size) {
    this.#engine = engine;
    this.#format = format;
    this.#sourceMax = sourceMax;
    this.#sets = new ParameterSets(syntaxes[format]);
    this.#decoder = new Decoder(engine, format, sourceMax);
  }

  get frame(): Frame {
    return this.#decoder.frame;
  }

  get keyFrameWanted(): boolean {
    return this.#keyFrameWanted || this.#gap === 'no_key_frame';
  }

  decode({ payload }: SourceFrame, { isKey, content }: FrameDescription): SourceStep {
    const isPicture = content === 'picture';
    if (isKey) this.#gap = null;
    // Parameter sets may come in a frame of their own, before their key frame.
    else if (this.#gap !== null && content !== 'parameters') return this.#gap;
    this.#keyFrameWanted = !isKey && (this.#keyFrameWanted || (isPicture && this.#hasOtherSets));
    if (content === 'nothing') return this.#fail();
    const check = this.#checks.check(this.#format, payload, isKey);
    if (check === 'too_costly') return this.#fail(check);
    if (this.#sets.store(payload)) this.#hasOtherSets = true;
    if (isKey && this.#isDecoderStaleFor(payload)) this.#replaceDecoder();
    const decoding = this.#decoder.decode(this.#sets.ordered(payload));
    if (decoding === 'decoded') this.#hasShown = true;
    else if (!isPicture) return 'waiting';
    // Either this stream delays pictures from the start, or the decoder holds them back in error.
    else this.#isTainted ||= this.#hasShown;
    if (this.#decoder.isDamaged || check === 'incomplete') this.#isTainted = this.#keyFrameWanted = true;
    return decoding === 'broken' ? this.#fail() : decoding;
  }

  skipTooLarge(): void {
    this.#isTainted = true;
    this.#gap = 'too_large';
  }

  close(): void {
    this.#decoder.close();
  }

  /** A recovery point does not replace the decoder: frames after it may refer to frames before it. */
  #isDecoderStaleFor(payload: Uint8Array): boolean {
    return this.#hasOtherSets || (this.#isTainted && startsAnew(this.#format, payload));
  }

  /** The new decoder knows only the parameter sets. If none can be opened, the old one stays. */
  #replaceDecoder(): void {
    const old = this.#decoder;
    try {
      this.#decoder = new Decoder(this.#engine, this.#format, this.#sourceMax);
    } catch {
      return;
    }
    old.close();
    const sets = this.#sets.all;
    this.#decoder.decode(sets);
    this.#checks = new AccessUnitChecks();
    this.#checks.check(this.#format, sets, true);
    this.#hasOtherSets = this.#isTainted = this.#hasShown = false;
  }

  #fail(cause: SourceStep = 'undecodable'): SourceStep {
    this.#isTainted = this.#keyFrameWanted = true;
    return cause;
  }
}

class AccessUnitChecks {
  readonly #h264 = new H264Frames();
  readonly #h265 = new PictureParts();

  check(format: CodedFormat, payload: Uint8Array, isKey: boolean): FrameCheck {
    return format === 'h264' ? this.#h264.check(payload, isKey) : this.#h265.check(payload);
  }
}
