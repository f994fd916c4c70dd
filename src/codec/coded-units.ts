/**
 * What an access unit is made of: slices of a picture, and parameter sets that its decoder keeps.
 * Source: ITU-T H.264, 7.4.1, and H.265, 7.4.2.2.
 */
import { nextNalUnit } from '../video/nal-units.ts';

export type CodedFormat = 'h264' | 'h265';

const startCodeBytes = 3;

/** False: parameter sets and messages only. `bytes`: Annex B. */
export function holdsPicture(format: CodedFormat, bytes: Uint8Array): boolean {
  for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at))
    if (isSlice(format, bytes[at])) return true;
  return false;
}

/** From the first parameter set to the end of the last one, wherever they are, a view; empty: there is none. */
export function parameterSpan(format: CodedFormat, bytes: Uint8Array): Uint8Array {
  let from = -1;
  let to = 0;
  for (let at = nextNalUnit(bytes, 0); at !== -1;) {
    const next = nextNalUnit(bytes, at);
    if (isParameterSet(format, bytes[at])) {
      if (from === -1) from = at;
      to = next === -1 ? bytes.length : next - startCodeBytes;
    }
    at = next;
  }
  return from === -1 ? bytes.subarray(0, 0) : bytes.subarray(from, to);
}

function isSlice(format: CodedFormat, header = 0): boolean {
  const type = unitType(format, header);
  return format === 'h264' ? type >= 1 && type <= 5 : type <= 31;
}

/** Of sequences and pictures, and their extensions; H.265 has those of videos as well. */
function isParameterSet(format: CodedFormat, header = 0): boolean {
  const type = unitType(format, header);
  return format === 'h264'
    ? type === 7 || type === 8 || type === 13 || type === 15
    : type >= 32 && type <= 34;
}

function unitType(format: CodedFormat, header: number): number {
  return format === 'h264' ? header & 0x1f : (header >> 1) & 0x3f;
}
