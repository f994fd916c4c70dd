/**
 * Frames of H.264: whether one can be started at, and how large its pictures are. Source: ITU-T H.264, 7.3.1, 7.3.2.1
 * and 7.4.1; calls-and-media.md, Legs.
 */
import type { Size } from '../domain/call.ts';
import { describeCodedFrame, type CodedFrame, type NalSyntax } from './coded-frame.ts';
import { readCroppedSize } from './cropped-size.ts';
import type { RbspReader } from './rbsp-reader.ts';

const idrSlice = 5;
const parameterSet = 7;
/** profile_idc of the profiles whose parameter sets tell the chroma format. */
const chromaProfiles = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);

/** `bytes`: an Annex B access unit. A key frame is an IDR picture. */
export function describeH264(bytes: Uint8Array): CodedFrame {
  return describeCodedFrame(bytes, h264);
}

const h264: NalSyntax = {
  headerBytes: 1,
  kindOf: (bytes, at) => {
    const type = (bytes[at] ?? 0) & 0x1f;
    if (type === idrSlice) return 'key_slice';
    if (type === parameterSet) return 'parameters';
    return type >= 1 && type < idrSlice ? 'slice' : 'other';
  },
  sizeOf: readSize,
};

function readSize(reader: RbspReader): Size | null {
  const profile = reader.bits(8);
  // Constraint flags and level.
  reader.skip(16);
  reader.unsigned();
  const chromaFormat = chromaProfiles.has(profile) ? readChromaFormat(reader) : 1;
  // log2_max_frame_num_minus4.
  reader.unsigned();
  skipPictureOrder(reader);
  // max_num_ref_frames, gaps_in_frame_num_value_allowed_flag.
  reader.unsigned();
  reader.skip(1);
  const columns = reader.unsigned() + 1;
  const rows = reader.unsigned() + 1;
  const fieldsPerMap = reader.bit() === 1 ? 1 : 2;
  // mb_adaptive_frame_field_flag where there are fields, direct_8x8_inference_flag.
  reader.skip(fieldsPerMap);
  const coded = { width: columns * 16, height: rows * 16 * fieldsPerMap };
  return readCroppedSize(reader, coded, chromaFormat, fieldsPerMap);
}

/** With all that stands there beside it. */
export function readChromaFormat(reader: RbspReader): number {
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

export function skipPictureOrder(reader: RbspReader): void {
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
