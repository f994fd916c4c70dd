/**
 * Finds that parts of an H.265 picture are missing: the decoder takes what is left for a whole picture, and leaves in the
 * gaps what its memory held. Damage within a slice shows nowhere but in its arithmetic code, or in a hash of the picture
 * that some senders add. Source: ITU-T H.265, 7.3.2.3.1, 7.3.6.1, 7.4.7.1 and D.2.19; calls-and-media.md, Legs.
 */
import { nextNalUnit, RbspReader } from './nal-units.ts';
import { h265, h265TypeAt, readSequence } from './h265-stream.ts';

const pictureParameters = 34;
const keyTypes = { min: 16, max: 23 };
/** The message behind a picture whose payload is a hash of it. */
const hashMessage = { type: 40, payload: 132 };
/** Among the parts of a picture the hash is the last. */
const hash = Infinity;
/** Pictures in a row that had the same parts, after which one that has only some of these lacks the others. */
const alikeMin = 8;
const pictureParametersMax = 63;
/** Slices of a picture at the highest level, and its hash. Source: ITU-T H.265, table A.8. */
const partsMax = 601;

export class PictureParts {
  /** Blocks of a picture, of which slices begin at one; 0: not known. */
  #blocks = 0;
  /** By the id of the picture parameter set: whether its slices say of themselves that they go on the one before. */
  readonly #haveDependent = new Map<number, boolean>();
  /** Where the slices of the last picture began, and its hash; and how many pictures had the same. */
  #usual: readonly number[] = [];
  #alike = 0;

  /** `bytes`: an Annex B access unit. */
  areWhole(bytes: Uint8Array): boolean {
    let parts: number[] = [];
    for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at)) {
      const type = h265TypeAt(bytes, at);
      const kind = h265.kindOf(bytes, at);
      const reader = new RbspReader(bytes, at + h265.headerBytes);
      if (kind === 'sequence') this.#blocks = readSequence(reader)?.blocks ?? 0;
      else if (kind === 'parameters' && type === pictureParameters) this.#learnPicture(reader);
      else if (type === hashMessage.type && reader.bits(8) === hashMessage.payload) parts.push(hash);
      else if (kind === 'slice' || kind === 'key_slice') {
        const begin = this.#readBegin(reader, type);
        if (begin === null) return true;
        if (begin === 0) parts = [];
        parts.push(begin);
      }
      if (parts.length > partsMax) return false;
    }
    return parts.length === 0 || this.#judge(parts);
  }

  #learnPicture(reader: RbspReader): void {
    const id = reader.unsigned();
    // pps_seq_parameter_set_id.
    reader.unsigned();
    const hasDependent = reader.bit() === 1;
    if (!reader.isBroken && id <= pictureParametersMax) this.#haveDependent.set(id, hasDependent);
  }

  /** The block that a slice begins at. Null: it cannot be told. */
  #readBegin(reader: RbspReader, type: number): number | null {
    const isFirst = reader.bit() === 1;
    // no_output_of_prior_pics_flag.
    if (type >= keyTypes.min && type <= keyTypes.max) reader.skip(1);
    const hasDependent = this.#haveDependent.get(reader.unsigned());
    if (isFirst) return 0;
    if (hasDependent === undefined || this.#blocks === 0) return null;
    // dependent_slice_segment_flag.
    if (hasDependent) reader.skip(1);
    const begin = reader.bits(Math.ceil(Math.log2(this.#blocks)));
    return reader.isBroken ? null : begin;
  }

  /** Slices come in their order, the first of them first. */
  #judge(parts: readonly number[]): boolean {
    const isInOrder = parts.every((part, index) => part > (parts[index - 1] ?? -1));
    const isBeyond = parts.some((part) => part !== hash && part >= this.#blocks && this.#blocks > 0);
    if (parts[0] !== 0 || !isInOrder || isBeyond) return false;
    const isLess = parts.length < this.#usual.length && parts.every((part) => this.#usual.includes(part));
    const isWhole = !isLess || this.#alike < alikeMin;
    // Where a sender really has changed its ways, the next picture is taken.
    this.#alike = isSame(parts, this.#usual) ? this.#alike + 1 : 1;
    this.#usual = parts;
    return isWhole;
  }
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index]);
}
