/**
 * Frames of H.265: where decoding can start, and how large the pictures are. Source: ITU-T H.265, 7.3.1.2, 7.3.2.2,
 * 7.3.3 and 7.4.2.2; calls-and-media.md, Legs.
 */
import type { Size } from '../../model/call.ts';
import { type NalKind, type NalSyntax, readCroppedSize, type RbspReader } from './nal-units.ts';

/** Numbers of NAL units: slices, of them those of random access points; behind the slices parameter sets, then messages. */
const sliceMax = 31;
const keySliceMin = 16;
const keySliceMax = 21;
const sequence = 33;
const parametersMax = 34;
const messageMax = 40;

/** Of profile, tier and constraints, once and for each sub-layer that has its own; and of a level. */
const profileBits = 88;
const levelBits = 8;

/** A key frame is a random access point: IDR, CRA or BLA. */
export const h265: NalSyntax = {
  headerBytes: 2,
  kindOf: (bytes, at) => {
    const header = (bytes[at] ?? 0) * 256 + (bytes[at + 1] ?? 0);
    // No unit has 0 for its layer of time, so half a header is none; and of further layers nothing is decoded.
    if ((header & 7) === 0) return 'unknown';
    return ((header >> 3) & 0x3f) === 0 ? kindOfType((header >> 9) & 0x3f) : 'message';
  },
  sizeOf: readSize,
};

function kindOfType(type: number): NalKind {
  if (type <= sliceMax) return type >= keySliceMin && type <= keySliceMax ? 'key_slice' : 'slice';
  if (type <= parametersMax) return type === sequence ? 'sequence' : 'parameters';
  return type <= messageMax ? 'message' : 'unknown';
}

function readSize(reader: RbspReader): Size | null {
  // sps_video_parameter_set_id.
  reader.skip(4);
  const subLayers = reader.bits(3);
  // sps_temporal_id_nesting_flag.
  reader.skip(1);
  skipProfileTierLevel(reader, subLayers);
  // sps_seq_parameter_set_id.
  reader.unsigned();
  const chromaFormat = reader.unsigned();
  // separate_colour_plane_flag.
  if (chromaFormat === 3) reader.skip(1);
  const coded = { width: reader.unsigned(), height: reader.unsigned() };
  return readCroppedSize(reader, coded, chromaFormat, 1);
}

/** `subLayers`: beside the highest. */
function skipProfileTierLevel(reader: RbspReader, subLayers: number): void {
  reader.skip(profileBits + levelBits);
  if (subLayers === 0) return;
  let bits = 0;
  for (let i = 0; i < subLayers; i += 1) bits += reader.bit() * profileBits + reader.bit() * levelBits;
  // Two reserved bits for each of the eight that is not there.
  reader.skip(2 * (8 - subLayers) + bits);
}
