/**
 * H.264 frames: where decoding can start, the size of the pictures, and missing frames. Source: ITU-T H.264, 7.3.1, 7.3.2.1.1, 7.3.3,
 * 7.4.1 and 7.4.2.1.1; calls-and-media.md, Legs.
 */
import {
  hasRecoveryPoint,
  isSlice,
  type NalKind,
  type NalSyntax,
  readCroppedSize,
  nextNalUnit,
  RbspReader,
} from './nal-units.ts';
import type { Size } from '../../model/call.ts';
import { referenceBlocksMax } from '../../model/media/decoding-limits.ts';
import { blocksOf, DecodingWork, type FrameCheck } from './decoding-work.ts';

/**
 * By nal_unit_type: 1-5 are slices and their partitions, 7 and 8 parameter sets, 13 their extension, 15 subset sequence parameter sets.
 */
const kinds: ReadonlyMap<number, NalKind> = new Map([
  [1, 'slice'],
  [2, 'slice'],
  [3, 'slice'],
  [4, 'slice'],
  [5, 'key_slice'],
  [6, 'message'],
  [7, 'sequence'],
  [8, 'parameters'],
  [9, 'message'],
  [10, 'message'],
  [11, 'message'],
  [12, 'message'],
  [13, 'parameters'],
  [15, 'parameters'],
]);

const message = 6;
/** Types of parameter sets in the order that decoders need: sequence, its extension, its subset, picture. */
const setTypes = [7, 13, 15, 8];
/** Types that begin like a sequence parameter set. */
const sequenceTypes = new Set([7, 15]);

/** A key frame is an IDR picture, or a recovery point. */
export const h264: NalSyntax = {
  headerBytes: 1,
  kindOf: (bytes, at) => kinds.get(typeAt(bytes, at)) ?? 'unknown',
  sizeOf: (reader) => readSequence(reader)?.size ?? null,
  setOf: (unit) => {
    const reader = new RbspReader(unit, 1);
    const type = typeAt(unit, 0);
    // Profile, constraint flags and level.
    if (sequenceTypes.has(type)) reader.skip(24);
    return { id: reader.unsigned(), rank: setTypes.indexOf(type) };
  },
  isRecoveryPoint: (bytes, at) =>
    typeAt(bytes, at) === message && hasRecoveryPoint(new RbspReader(bytes, at + 1)),
  startsAnew: (bytes, at) => kinds.get(typeAt(bytes, at)) === 'key_slice',
};

function typeAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) & 0x1f;
}

/** profile_idc of the profiles whose parameter sets contain the chroma format. */
const chromaProfiles = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);

interface H264Sequence {
  readonly id: number;
  /** chroma_format_idc: none, 4:2:0, 4:2:2, 4:4:4. */
  readonly chromaFormat: number;
  /** Bits of frame_num. */
  readonly numberBits: number;
  readonly allowsGaps: boolean;
  readonly references: number;
  /** Macroblocks of a picture, including cropped ones. */
  readonly blocks: number;
  readonly size: Size | null;
}

/** `reader`: after the header of the unit. Null: invalid before the size. */
function readSequence(reader: RbspReader): H264Sequence | null {
  const profile = reader.bits(8);
  // Constraint flags and level.
  reader.skip(16);
  const id = reader.unsigned();
  const chromaFormat = chromaProfiles.has(profile) ? readChromaFormat(reader) : 1;
  const numberBits = reader.unsigned() + 4;
  skipPictureOrder(reader);
  const references = reader.unsigned();
  const allowsGaps = reader.bit() === 1;
  if (reader.isBroken) return null;
  const columns = reader.unsigned() + 1;
  const rows = reader.unsigned() + 1;
  const fieldsPerMap = reader.bit() === 1 ? 1 : 2;
  // mb_adaptive_frame_field_flag where there are fields, direct_8x8_inference_flag.
  reader.skip(fieldsPerMap);
  const coded = { width: columns * 16, height: rows * 16 * fieldsPerMap };
  const size = readCroppedSize(reader, coded, chromaFormat, fieldsPerMap);
  return { id, chromaFormat, numberBits, allowsGaps, references, blocks: blocksOf(coded), size };
}

/** Reads the chroma format and skips the fields that accompany it. */
function readChromaFormat(reader: RbspReader): number {
  const chromaFormat = reader.unsigned();
  // separate_colour_plane_flag.
  if (chromaFormat === 3) reader.skip(1);
  // Bit depths of luma and chroma, qpprime_y_zero_transform_bypass_flag.
  reader.unsigned();
  reader.unsigned();
  reader.skip(1);
  if (reader.bit() === 1) skipScalingMatrix(reader, chromaFormat === 3 ? 12 : 8);
  return chromaFormat;
}

function skipScalingMatrix(reader: RbspReader, lists: number): void {
  for (let list = 0; list < lists; list += 1)
    if (reader.bit() === 1) skipScalingList(reader, list < 6 ? 16 : 64);
}

/** A list ends at a next scale of 0; the last value then repeats. */
function skipScalingList(reader: RbspReader, length: number): void {
  let scale = 8;
  for (let i = 0; i < length && scale !== 0; i += 1) scale = (scale + reader.signed() + 256) % 256;
}

function skipPictureOrder(reader: RbspReader): void {
  const kind = reader.unsigned();
  if (kind === 0) reader.unsigned();
  if (kind !== 1) return;
  // delta_pic_order_always_zero_flag, two offsets, and those of the cycle, at most 255.
  reader.skip(1);
  reader.unsigned();
  reader.unsigned();
  const cycle = Math.min(reader.unsigned(), 255);
  for (let i = 0; i < cycle; i += 1) reader.unsigned();
}

/** nal_ref_idc is not 0: other pictures may refer to this one. */
const lowestReference = 0x20;

/**
 * Checks access units before they are decoded. Detects missing frames by frame_num (7.4.3), because a decoder silently substitutes the
 * nearest picture for a missing reference. Detects access units that would cost the decoder more work or memory than the limits allow.
 */
export class H264Frames {
  /** Bits of frame_num; 0: unknown, or gaps are allowed. */
  #bits = 0;
  /** frame_num of the last reference picture; null: none to follow. */
  #last: number | null = null;
  /** Macroblocks of the largest picture that a parameter set describes. */
  #blocks = 0;
  #keepsTooMuch = false;

  /** `bytes`: an Annex B access unit. A key frame may follow any frame. */
  check(bytes: Uint8Array, isKey: boolean): FrameCheck {
    if (isKey) this.#last = null;
    const work = new DecodingWork();
    let follows: boolean | null = null;
    for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at)) {
      const kind = h264.kindOf(bytes, at);
      const reader = new RbspReader(bytes, at + h264.headerBytes);
      if (kind === 'sequence') this.#storeSequence(reader);
      // first_mb_in_slice.
      work.add(kind, isSlice(kind) ? reader.unsigned() : 0);
      if (work.hasTooManyParts || this.#keepsTooMuch) return 'too_costly';
      if (isSlice(kind)) follows ??= this.#count(reader, (bytes[at] ?? 0) >= lowestReference);
    }
    if (work.exceeds(this.#blocks, bytes.length)) return 'too_costly';
    return follows === false ? 'incomplete' : 'whole';
  }

  #storeSequence(reader: RbspReader): void {
    const sequence = readSequence(reader);
    // With several parameter sets it is unknown which one a picture uses, and 4:4:4 has another field in between.
    const isPlain = sequence !== null && sequence.id === 0 && sequence.chromaFormat < 3;
    const isUsable = isPlain && !sequence.allowsGaps && sequence.numberBits <= 16;
    this.#bits = isUsable ? sequence.numberBits : 0;
    if (sequence === null) return;
    this.#blocks = Math.max(this.#blocks, sequence.blocks);
    this.#keepsTooMuch ||= sequence.references * sequence.blocks > referenceBlocksMax;
  }

  /** `reader`: after first_mb_in_slice of the first slice. */
  #count(reader: RbspReader, isReference: boolean): boolean {
    if (this.#bits === 0) return true;
    // slice_type, pic_parameter_set_id.
    reader.unsigned();
    reader.unsigned();
    const number = reader.bits(this.#bits);
    if (reader.isBroken) return true;
    const last = this.#last;
    if (isReference) this.#last = number;
    return last === null || number === last || number === (last + 1) % 2 ** this.#bits;
  }
}
