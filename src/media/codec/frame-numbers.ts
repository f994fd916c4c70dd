/**
 * Whether a frame of H.264 is missing, by the numbers that its pictures carry: a decoder quietly takes the nearest one
 * for a reference that never came. Source: ITU-T H.264, 7.3.2.1.1, 7.3.3 and 7.4.3 (frame_num).
 */
import { readSequence } from '../geometry/h264-sequence.ts';
import { h264 } from '../geometry/h264-stream.ts';
import { nextNalUnit } from '../geometry/nal-units.ts';
import { RbspReader } from '../geometry/rbsp-reader.ts';

/** Of the headers of slices that others may refer to: nal_ref_idc is not 0. */
const lowestReference = 0x20;

export class FrameNumbers {
  /** How many bits a number has; 0: it is not known, or gaps are allowed. */
  #bits = 0;
  /** Of the last picture that others may refer to; null: there is none to follow. */
  #last: number | null = null;

  /** `bytes`: an Annex B access unit. A key frame follows everything. */
  follows(bytes: Uint8Array, isKey: boolean): boolean {
    if (isKey) this.#last = null;
    for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at)) {
      const kind = h264.kindOf(bytes, at);
      const reader = new RbspReader(bytes, at + h264.headerBytes);
      if (kind === 'sequence') this.#learn(reader);
      else if (kind === 'slice' || kind === 'key_slice')
        return this.#count(reader, (bytes[at] ?? 0) >= lowestReference);
    }
    return true;
  }

  #learn(reader: RbspReader): void {
    const sequence = readSequence(reader);
    // Of several parameter sets it would have to be known which one a picture goes by, and in 4:4:4 another field is in between.
    const isPlain = sequence !== null && sequence.id === 0 && sequence.chromaFormat < 3;
    const isTold = isPlain && !sequence.allowsGaps && sequence.numberBits <= 16;
    this.#bits = isTold ? sequence.numberBits : 0;
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
