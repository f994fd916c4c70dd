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

/** `waiting`: no picture yet, and nothing is wrong. */
export type SourceStep = 'decoded' | 'waiting' | FrameDrop | UndecodableCause;

export interface FrameSource {
  /** The picture that was decoded last; its pixels stay until the next frame is taken. */
  readonly frame: Frame;
  /** That picture is smaller than the source by it. */
  readonly reduction: Reduction;
  /** The next frames are of no use before a key frame. */
  readonly keyFrameWanted: boolean;
  /** `shapes`: of the pictures that are to be made of it. */
  take(frame: SourceFrame, description: FrameDescription, shapes: readonly PictureShape[]): SourceStep;
  /** A frame that those behind it may build on was too large to be decoded, or to be used. */
  skipTooLarge?(): void;
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

  close(): void {
    freeNatives(this.#view, this.frame);
  }
}

/** As the decoder counts it: sides are halved so often. */
const quarterOfSides = 2;
const endOfImage = Buffer.of(0xff, 0xd9);
/** Behind a scan: as much data as no code needs, of zeros and of ones. */
const fillers = [Buffer.alloc(32), Buffer.alloc(64, 'ff00', 'hex')] as const;

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
    this.#whole = new Decoder(engine, 'mjpeg', sourceMax);
  }

  get frame(): Frame {
    return (this.#reduction === 1 ? this.#whole : (this.#quarter ?? this.#whole)).frame;
  }

  get reduction(): Reduction {
    return this.#reduction;
  }

  take(
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

  /** A picture that cannot be decoded smaller, as a progressive one, is decoded at its own size. */
  #decode({ bytes, size, chromaStep }: JpegPicture, shapes: readonly PictureShape[]): boolean {
    this.#reduction = size === null ? 1 : reductionFor(size, shapes, chromaStep);
    if (this.#reduction > 1 && this.#decodeSmaller(bytes)) return true;
    this.#reduction = 1;
    return this.#whole.decode(bytes) === 'decoded';
  }

  /** False: also where there is no such decoder for now. */
  #decodeSmaller(payload: Uint8Array<ArrayBuffer>): boolean {
    try {
      this.#quarter ??= new Decoder(this.#engine, 'mjpeg', this.#sourceMax, quarterOfSides);
    } catch {
      return false;
    }
    return this.#quarter.decode(payload) === 'decoded';
  }

  /** The last scan is whole if the picture does not depend on what is behind it: a decoder makes up missing blocks. */
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

/** Without the zeros that fill a buffer, but for the first, which may be data; or without the beginning of a marker. */
function withoutFill(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (bytes[end - 1] === 0) end -= 1;
  if (end < bytes.length) return bytes.subarray(0, end + 1);
  while (bytes[end - 1] === 0xff) end -= 1;
  return bytes.subarray(0, end);
}

/**
 * H.264 and H.265, from a key frame on: every picture that the decoder has, though parts of it may be painted over. A key frame
 * is wanted after damage, and until one comes.
 */
export class CodedSource implements FrameSource {
  readonly reduction = 1;
  readonly #engine: Engine;
  readonly #format: CodedFormat;
  readonly #sourceMax: Size;
  readonly #sets: ParameterSets;
  #decoder: Decoder;
  #checks = new AccessUnitChecks();
  /** Why frames are dropped up to the next key frame; null: they are not. */
  #gap: FrameDrop | null = 'no_key_frame';
  #keyFrameWanted = false;
  #hasShown = false;
  /** Parameter sets have changed since the decoder was opened. */
  #hasOtherSets = false;
  /** The decoder may keep pictures back that a fresh one would show. */
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

  take({ payload }: SourceFrame, { isKey, content }: FrameDescription): SourceStep {
    const isPicture = content === 'picture';
    if (isKey) this.#gap = null;
    // Parameter sets may come in a frame of their own, before the key frame that needs them.
    else if (this.#gap !== null && content !== 'parameters') return this.#gap;
    this.#keyFrameWanted = !isKey && (this.#keyFrameWanted || (isPicture && this.#hasOtherSets));
    if (content === 'nothing') return this.#fail();
    const check = this.#checks.check(this.#format, payload, isKey);
    if (check === 'too_costly') return this.#fail(check);
    if (this.#sets.learn(payload)) this.#hasOtherSets = true;
    if (isKey && this.#isDecoderStaleFor(payload)) this.#replaceDecoder();
    const decoding = this.#decoder.decode(this.#sets.ordered(payload));
    if (decoding === 'decoded') this.#hasShown = true;
    else if (!isPicture) return 'waiting';
    // Pictures are kept back from the beginning, or by mistake.
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

  /** A recovery point is decoded on: frames behind it may refer to frames before it. */
  #isDecoderStaleFor(payload: Uint8Array): boolean {
    return this.#hasOtherSets || (this.#isTainted && startsAnew(this.#format, payload));
  }

  /** By one that knows the parameter sets, and nothing else of what came before. Where none can be opened, the old one stays. */
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
