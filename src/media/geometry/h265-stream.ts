/**
 * H.265 frames: where decoding can start, and the size of the pictures. Source: ITU-T H.265, 7.3.1.2, 7.3.2.2, 7.3.3 and 7.4.2.2;
 * calls-and-media.md, Legs.
 */
import type { Size } from '../../model/call.ts';
import { hasRecoveryPoint, type NalKind, type NalSyntax, readCroppedSize, RbspReader } from './nal-units.ts';

/** Types of NAL units: slices, those of random access points among them; then parameter sets, then messages. */
const sliceMax = 31;
const keySliceMin = 16;
/** Frames that precede it in display may refer to frames before it. */
const continuingKeySlice = 21;
const keySliceMax = continuingKeySlice;
/** Types of parameter sets: video, sequence, picture. */
const firstSet = 32;
const sequence = 33;
const parametersMax = 34;
const prefixMessage = 39;
const messageMax = 40;

/** Bits of profile, tier and constraints, once and for each sub-layer that has its own; and bits of a level. */
const profileBits = 88;
const levelBits = 8;

/** A key frame is a random access point, IDR, CRA or BLA, or a recovery point. */
export const h265: NalSyntax = {
  headerBytes: 2,
  kindOf: (bytes, at) => {
    const header = (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
    // nuh_temporal_id_plus1 is never 0, so half a header is invalid; other layers are not decoded.
    if ((header & 7) === 0) return 'unknown';
    return ((header >> 3) & 0x3f) === 0 ? kindOfType((header >> 9) & 0x3f) : 'message';
  },
  sizeOf: (reader) => readSequence(reader)?.size ?? null,
  setOf: (unit) => {
    const reader = new RbspReader(unit, 2);
    const type = h265TypeAt(unit, 0);
    return { id: readSetId(reader, type), rank: type - firstSet };
  },
  isRecoveryPoint: (bytes, at) =>
    h265TypeAt(bytes, at) === prefixMessage && hasRecoveryPoint(new RbspReader(bytes, at + 2)),
  startsAnew: (bytes, at) => {
    const type = h265TypeAt(bytes, at);
    return type >= keySliceMin && type < continuingKeySlice;
  },
};

function readSetId(reader: RbspReader, type: number): number {
  if (type === firstSet) return reader.bits(4);
  return type === sequence ? (readSequence(reader)?.id ?? 0) : reader.unsigned();
}

export function h265TypeAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) >> 1) & 0x3f;
}

function kindOfType(type: number): NalKind {
  if (type <= sliceMax) return type >= keySliceMin && type <= keySliceMax ? 'key_slice' : 'slice';
  if (type <= parametersMax) return type === sequence ? 'sequence' : 'parameters';
  return type <= messageMax ? 'message' : 'unknown';
}

export interface H265Sequence {
  readonly id: number;
  /** Size of its pictures; null: invalid. */
  readonly size: Size | null;
  readonly coded: Size;
  /** Pictures kept for reference, including the current one; 0: invalid. */
  readonly references: number;
  /** Side of a coding tree block in pixels; 0: invalid. */
  readonly blockSide: number;
  /** Coding tree blocks of a picture; 0: invalid. */
  readonly blocks: number;
}

/** `reader`: after the header of the unit. Null: invalid before the size. */
export function readSequence(reader: RbspReader): H265Sequence | null {
  // sps_video_parameter_set_id.
  reader.skip(4);
  const subLayers = reader.bits(3);
  // sps_temporal_id_nesting_flag.
  reader.skip(1);
  skipProfileTierLevel(reader, subLayers);
  const id = reader.unsigned();
  const chromaFormat = reader.unsigned();
  // separate_colour_plane_flag.
  if (chromaFormat === 3) reader.skip(1);
  const coded = { width: reader.unsigned(), height: reader.unsigned() };
  if (reader.isBroken) return null;
  const size = readCroppedSize(reader, coded, chromaFormat, 1);
  const { references, blockSide } = readBlocks(reader, subLayers);
  return { id, size, coded, references, blockSide, blocks: countBlocks(coded, blockSide) };
}

const blockSides = new Set([16, 32, 64]);

function readBlocks(reader: RbspReader, subLayers: number): Pick<H265Sequence, 'references' | 'blockSide'> {
  // Bit depths of luma and chroma, log2_max_pic_order_cnt_lsb_minus4.
  for (let i = 0; i < 3; i += 1) reader.unsigned();
  // Pictures to buffer, to reorder and of latency, for each sub-layer or only the highest.
  const layers = reader.bit() === 1 ? subLayers + 1 : 1;
  let references = 0;
  for (let i = 0; i < layers; i += 1) {
    references = Math.max(references, reader.unsigned() + 1);
    reader.unsigned();
    reader.unsigned();
  }
  const smallest = reader.unsigned() + 3;
  const side = 2 ** (smallest + reader.unsigned());
  const isBroken = reader.isBroken || !blockSides.has(side);
  return isBroken ? { references: 0, blockSide: 0 } : { references, blockSide: side };
}

function countBlocks({ width, height }: Size, side: number): number {
  return side === 0 ? 0 : Math.ceil(width / side) * Math.ceil(height / side);
}

/** `subLayers`: without the highest. */
function skipProfileTierLevel(reader: RbspReader, subLayers: number): void {
  reader.skip(profileBits + levelBits);
  if (subLayers === 0) return;
  let bits = 0;
  for (let i = 0; i < subLayers; i += 1) bits += reader.bit() * profileBits + reader.bit() * levelBits;
  // Two reserved bits for each of the eight sub-layers that is absent.
  reader.skip(2 * (8 - subLayers) + bits);
}
