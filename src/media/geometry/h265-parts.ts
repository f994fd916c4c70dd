/**
 * Checks H.265 access units before they are decoded. Detects those that would cost the decoder more work or memory than the limits
 * allow, and pictures with missing parts: the decoder treats the rest as a whole picture and leaves old memory in the gaps. Damage
 * within a slice shows only in its arithmetic code, or in a picture hash that some senders add. Source: ITU-T H.265, 7.3.2.3.1, 7.3.6.1,
 * 7.4.7.1 and D.2.19; calls-and-media.md, Legs.
 */
import { referenceBlocksMax } from '../../model/media/decoding-limits.ts';
import { blocksOf, DecodingWork, type FrameCheck } from './decoding-work.ts';
import { isSlice, type NalKind, nextNalUnit, RbspReader } from './nal-units.ts';
import { h265, h265TypeAt, type H265Sequence, readSequence } from './h265-stream.ts';

const pictureParameters = 34;
const keyTypes = { min: 16, max: 23 };
/** The message after a picture whose payload is the picture's hash. */
const hashMessage = { type: 40, payload: 132 };
/** Sorts after all other parts of a picture: the hash is the last. */
const hash = Infinity;
/** After this many consecutive pictures with the same parts, a picture with only some of them is incomplete. */
const alikeMin = 8;
const sequencesMax = 15;
const pictureParametersMax = 63;
/** Slices of a picture at the highest level, plus its hash. Source: ITU-T H.265, table A.8. */
const partsMax = 601;

interface PictureParameters {
  readonly sequence: number;
  /** Its slices have dependent_slice_segment_flag. */
  readonly hasDependent: boolean;
}

interface Begin {
  /** Number of its first coding tree block; null: unknown. */
  readonly block: number | null;
  /** The same in blocks of 16 x 16; 0: unknown. */
  readonly blocksBefore: number;
  /** Coding tree blocks of its picture; 0: unknown. */
  readonly blocks: number;
}

const firstBegin: Begin = { block: 0, blocksBefore: 0, blocks: 0 };
const unknownBegin: Begin = { block: null, blocksBefore: 0, blocks: 0 };

export class PictureParts {
  readonly #sequences = new Map<number, H265Sequence>();
  readonly #pictures = new Map<number, PictureParameters>();
  /** Blocks of 16 x 16 of the largest picture that a parameter set describes. */
  #largest = 0;
  #keepsTooMuch = false;
  /** Positions of the slices of the last picture, and its hash; and the number of consecutive pictures with the same ones. */
  #usual: readonly number[] = [];
  #alike = 0;

  check(bytes: Uint8Array): FrameCheck {
    const work = new DecodingWork();
    let parts: number[] = [];
    let blocks = 0;
    let isUnknown = false;
    for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at)) {
      const type = h265TypeAt(bytes, at);
      const kind = h265.kindOf(bytes, at);
      const reader = new RbspReader(bytes, at + h265.headerBytes);
      const begin = isSlice(kind) ? this.#readBegin(reader, type) : null;
      if (begin === null) this.#storeParameters(kind, type, reader);
      work.add(kind, begin?.blocksBefore);
      if (begin?.block === 0) parts = [];
      if (begin !== null) {
        isUnknown ||= begin.block === null;
        parts.push(begin.block ?? 0);
        blocks = Math.max(blocks, begin.blocks);
      } else if (isHash(type, reader)) parts.push(hash);
      if (work.hasTooManyParts || this.#keepsTooMuch || parts.length > partsMax) return 'too_costly';
    }
    if (work.exceeds(this.#largest, bytes.length)) return 'too_costly';
    return isUnknown || parts.length === 0 || this.#judge(parts, blocks) ? 'whole' : 'incomplete';
  }

  #storeParameters(kind: NalKind, type: number, reader: RbspReader): void {
    if (kind === 'sequence') this.#storeSequence(readSequence(reader));
    else if (kind === 'parameters' && type === pictureParameters) this.#storePicture(reader);
  }

  #storeSequence(sequence: H265Sequence | null): void {
    if (sequence === null || sequence.id > sequencesMax) return;
    const blocks = blocksOf(sequence.coded);
    this.#sequences.set(sequence.id, sequence);
    this.#largest = Math.max(this.#largest, blocks);
    this.#keepsTooMuch ||= sequence.references * blocks > referenceBlocksMax;
  }

  #storePicture(reader: RbspReader): void {
    const id = reader.unsigned();
    const sequence = reader.unsigned();
    const hasDependent = reader.bit() === 1;
    if (!reader.isBroken && id <= pictureParametersMax) this.#pictures.set(id, { sequence, hasDependent });
  }

  #readBegin(reader: RbspReader, type: number): Begin {
    const isFirst = reader.bit() === 1;
    // no_output_of_prior_pics_flag.
    if (type >= keyTypes.min && type <= keyTypes.max) reader.skip(1);
    const picture = this.#pictures.get(reader.unsigned());
    if (isFirst) return firstBegin;
    const { blocks = 0, blockSide = 0 } = this.#sequences.get(picture?.sequence ?? -1) ?? {};
    if (picture === undefined || blocks === 0) return unknownBegin;
    // dependent_slice_segment_flag.
    if (picture.hasDependent) reader.skip(1);
    const block = reader.bits(Math.ceil(Math.log2(blocks)));
    return reader.isBroken ? unknownBegin : { block, blocksBefore: block * (blockSide / 16) ** 2, blocks };
  }

  /** Slices are in order, beginning with the first. */
  #judge(parts: readonly number[], blocks: number): boolean {
    const isInOrder = parts.every((part, index) => part > (parts[index - 1] ?? -1));
    const isBeyond = parts.some((part) => part !== hash && part >= blocks && blocks > 0);
    if (parts[0] !== 0 || !isInOrder || isBeyond) return false;
    const isLess = parts.length < this.#usual.length && parts.every((part) => this.#usual.includes(part));
    const isWhole = !isLess || this.#alike < alikeMin;
    // If a sender has really changed its slicing, the next picture is accepted.
    this.#alike = isSame(parts, this.#usual) ? this.#alike + 1 : 1;
    this.#usual = parts;
    return isWhole;
  }
}

/** `reader`: after the header of the unit, nothing read yet. */
function isHash(type: number, reader: RbspReader): boolean {
  return type === hashMessage.type && reader.bits(8) === hashMessage.payload;
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index]);
}
