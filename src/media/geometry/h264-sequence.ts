/** The sequence parameter sets of H.264, as far as anything of them is used. Source: ITU-T H.264, 7.3.2.1.1 and 7.4.2.1.1. */
import type { Size } from '../../model/call.ts';
import { readCroppedSize } from './cropped-size.ts';
import type { RbspReader } from './rbsp-reader.ts';

/** profile_idc of the profiles whose parameter sets tell the chroma format. */
const chromaProfiles = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);

export interface H264Sequence {
  readonly id: number;
  /** chroma_format_idc: none, 4:2:0, 4:2:2, 4:4:4. */
  readonly chromaFormat: number;
  /** Bits of frame_num. */
  readonly numberBits: number;
  readonly allowsGaps: boolean;
  /** Of its pictures; null: broken. */
  readonly size: Size | null;
}

/** `reader` is behind the header of the unit. Null: broken before the size. */
export function readSequence(reader: RbspReader): H264Sequence | null {
  const profile = reader.bits(8);
  // Constraint flags and level.
  reader.skip(16);
  const id = reader.unsigned();
  const chromaFormat = chromaProfiles.has(profile) ? readChromaFormat(reader) : 1;
  const numberBits = reader.unsigned() + 4;
  skipPictureOrder(reader);
  // max_num_ref_frames.
  reader.unsigned();
  const allowsGaps = reader.bit() === 1;
  if (reader.isBroken) return null;
  return { id, chromaFormat, numberBits, allowsGaps, size: readSize(reader, chromaFormat) };
}

function readSize(reader: RbspReader, chromaFormat: number): Size | null {
  const columns = reader.unsigned() + 1;
  const rows = reader.unsigned() + 1;
  const fieldsPerMap = reader.bit() === 1 ? 1 : 2;
  // mb_adaptive_frame_field_flag where there are fields, direct_8x8_inference_flag.
  reader.skip(fieldsPerMap);
  const coded = { width: columns * 16, height: rows * 16 * fieldsPerMap };
  return readCroppedSize(reader, coded, chromaFormat, fieldsPerMap);
}

/** With all that stands there beside it. */
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

/** A list ends where its next scale is 0, and the rest repeats the last one. */
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
