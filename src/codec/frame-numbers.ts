/**
 * Whether a frame of H.264 is missing, by the numbers that its pictures carry: a decoder quietly takes the nearest one
 * for a reference that never came. Source: ITU-T H.264, 7.3.2.1.1, 7.3.3 and 7.4.3 (frame_num).
 */
import { readChromaFormat, skipPictureOrder } from '../video/h264-stream.ts';
import { nextNalUnit } from '../video/nal-units.ts';
import { RbspReader } from '../video/rbsp-reader.ts';

const idrSlice = 5;
const parameterSet = 7;
const chromaProfiles = new Set([100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]);

export class FrameNumbers {
  /** How many bits a number has; 0: it is not known, or gaps are allowed. */
  #bits = 0;
  /** Of the last picture that others may refer to; null: there is none to follow. */
  #last: number | null = null;

  /** `bytes`: an Annex B access unit. A key frame follows everything. */
  follows(bytes: Uint8Array, isKey: boolean): boolean {
    if (isKey) this.#last = null;
    for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at)) {
      const header = bytes[at] ?? 0;
      const type = header & 0x1f;
      if (type === parameterSet) this.#learn(new RbspReader(bytes, at + 1));
      else if (type >= 1 && type <= idrSlice)
        return this.#count(new RbspReader(bytes, at + 1), header >= 0x20);
    }
    return true;
  }

  #learn(reader: RbspReader): void {
    const profile = reader.bits(8);
    // Constraint flags and level.
    reader.skip(16);
    const id = reader.unsigned();
    const chromaFormat = chromaProfiles.has(profile) ? readChromaFormat(reader) : 1;
    const bits = reader.unsigned() + 4;
    skipPictureOrder(reader);
    // max_num_ref_frames.
    reader.unsigned();
    const allowsGaps = reader.bit() === 1;
    // Of several parameter sets it would have to be known which one a picture goes by, and in 4:4:4 another field is in between.
    const isPlain = id === 0 && chromaFormat < 3 && !reader.isBroken;
    this.#bits = isPlain && !allowsGaps && bits <= 16 ? bits : 0;
  }

  /** `reader`: behind the header of the first slice. */
  #count(reader: RbspReader, isReference: boolean): boolean {
    if (this.#bits === 0) return true;
    // first_mb_in_slice, slice_type, pic_parameter_set_id.
    reader.unsigned();
    reader.unsigned();
    reader.unsigned();
    const number = reader.bits(this.#bits);
    if (reader.isBroken) return true;
    const last = this.#last;
    if (isReference) this.#last = number;
    return last === null || number === last || number === (last + 1) % 2 ** this.#bits;
  }
}
