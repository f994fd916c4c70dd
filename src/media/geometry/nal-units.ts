/**
 * The common part of H.264 and H.265: NAL units of an Annex B byte stream, their fields, bit by bit, and a description of a frame from
 * them, without decoding it. The two differ in headers and parameter sets, which their own files read. Source: ITU-T H.264, Annex B,
 * 7.2, 7.3.1, 7.4.2.1.1 and 9.1; H.265, the same and 7.4.3.2.1; calls-and-media.md, Legs and Resolution.
 */
import type { Size } from '../../model/call.ts';
import type { FrameContent } from '../../model/media/picture.ts';

/**
 * Index of the first byte after the next start code at or after `from`; -1: none, or nothing follows it. A start code of four bytes is
 * one of three preceded by a zero.
 */
export function nextNalUnit(bytes: Uint8Array, from: number): number {
  let at = from + 2;
  while (at < bytes.length - 1) {
    const last = bytes[at] ?? 0;
    // Skips three bytes: a byte that is neither 0 nor 1 is in no start code.
    if (last > 1) at += 3;
    else if (last === 1 && bytes[at - 1] === 0 && bytes[at - 2] === 0) return at + 1;
    else at += 1;
  }
  return -1;
}

const startCodeBytes = 3;

/** The NAL units of an Annex B byte stream, without start codes and trailing zeros; views of it. */
export function splitNalUnits(bytes: Uint8Array): Uint8Array[] {
  const units: Uint8Array[] = [];
  for (let at = nextNalUnit(bytes, 0); at !== -1;) {
    const next = nextNalUnit(bytes, at);
    let end = next === -1 ? bytes.length : next - startCodeBytes;
    while (end > at && bytes[end - 1] === 0) end -= 1;
    if (end > at) units.push(bytes.subarray(at, end));
    at = next;
  }
  return units;
}

/** Values of exp-Golomb codes are below 2^32. */
const leadingZeroesMax = 31;

/** Skips emulation prevention bytes. Ends at the next start code, so that the caller need not search for the end first. */
export class RbspReader {
  readonly #bytes: Uint8Array;
  #at: number;
  #byte = 0;
  #bitsLeft = 0;
  #zeroBytes = 0;
  #isBroken = false;

  /** `from`: after the header of the NAL unit. */
  constructor(bytes: Uint8Array, from: number) {
    this.#bytes = bytes;
    this.#at = from;
  }

  /** A read passed the end, or a code is invalid; values read since are meaningless. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  bit(): number {
    if (this.#bitsLeft === 0) this.#nextByte();
    if (this.#isBroken) return 0;
    this.#bitsLeft -= 1;
    return (this.#byte >> this.#bitsLeft) & 1;
  }

  /** `count`: at most 32, most significant bit first. */
  bits(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i += 1) value = value * 2 + this.bit();
    return value;
  }

  skip(bits: number): void {
    for (let i = 0; i < bits; i += 1) this.bit();
  }

  /** ue(v). */
  unsigned(): number {
    let zeroes = 0;
    while (zeroes <= leadingZeroesMax && this.bit() === 0) zeroes += 1;
    if (zeroes > leadingZeroesMax) this.#isBroken = true;
    return this.#isBroken ? 0 : 2 ** zeroes - 1 + this.bits(zeroes);
  }

  /** se(v). */
  signed(): number {
    const code = this.unsigned();
    return code % 2 === 1 ? (code + 1) / 2 : -code / 2;
  }

  #nextByte(): void {
    if (this.#zeroBytes >= 2 && this.#bytes[this.#at] === 3) {
      this.#at += 1;
      this.#zeroBytes = 0;
    }
    const byte = this.#bytes[this.#at];
    if (byte === undefined || this.#isAtEnd()) {
      this.#isBroken = true;
      return;
    }
    this.#at += 1;
    this.#zeroBytes = byte === 0 ? this.#zeroBytes + 1 : 0;
    this.#byte = byte;
    this.#bitsLeft = 8;
  }

  /** Trailing zeros do not belong to the unit, whether they are part of a start code or precede it. */
  #isAtEnd(): boolean {
    const [at, bytes] = [this.#at, this.#bytes];
    return bytes[at] === 0 && (bytes[at + 1] ?? 0) === 0 && (bytes[at + 2] ?? 0) < 3;
  }
}

/** Payload type of a recovery point message, in both standards. */
const recoveryPoint = 6;
/** Maximum bytes of payloads before it in one message; encoders send one message for each. */
const payloadBytesMax = 1024;

/** `reader`: after the header of a message. */
export function hasRecoveryPoint(reader: RbspReader): boolean {
  for (let left = payloadBytesMax; left > 0 && !reader.isBroken;) {
    const [type, bytes] = [readPayloadNumber(reader), readPayloadNumber(reader)];
    if (type === recoveryPoint && !reader.isBroken) return true;
    left -= bytes + 2;
    if (left > 0) reader.skip(8 * bytes);
  }
  return false;
}

/** A number coded in bytes, all but the last of which are 255. */
function readPayloadNumber(reader: RbspReader): number {
  let number = 0;
  let byte = reader.bits(8);
  for (; byte === 255 && number < payloadBytesMax; byte = reader.bits(8)) number += byte;
  return number + byte;
}

export interface CodedFrame {
  readonly content: FrameContent;
  /** A decoder can start at it, if it has the parameter sets. */
  readonly hasKey: boolean;
  /** Size of the largest of its sequence parameter sets; null: none is readable. */
  readonly size: Size | null;
}

/** `sequence`: the parameter set with the size; `parameters`: another one; `message`: data that a decoder does not need. */
export type NalKind = 'key_slice' | 'slice' | 'sequence' | 'parameters' | 'message' | 'unknown';

export interface NalSyntax {
  readonly headerBytes: number;
  /** `at`: the first byte of a NAL unit. */
  kindOf(bytes: Uint8Array, at: number): NalKind;
  /** `reader`: after the header of a sequence parameter set. Null: invalid. */
  sizeOf(reader: RbspReader): Size | null;
  /** Id of a parameter set among those of its type, and the rank of its type in the order that decoders need. */
  setOf(unit: Uint8Array): { readonly id: number; readonly rank: number };
  /** `at`: the first byte of a message. True: decoding may start at its picture, and recovers within some pictures. */
  isRecoveryPoint(bytes: Uint8Array, at: number): boolean;
  /** `at`: the first byte of a slice. True: no later frame refers to an earlier one. */
  startsAnew(bytes: Uint8Array, at: number): boolean;
}

export function isSlice(kind: NalKind): boolean {
  return kind === 'slice' || kind === 'key_slice';
}

/** The number of possible ids; further ones in a frame are ignored. */
const sequencesMax = 32;

/**
 * `bytes`: an Annex B access unit, of which nothing is kept. Slices come last, and either all or none belong to a key frame: the first
 * one decides, and the bulk of the frame is not read.
 */
export function describeCodedFrame(bytes: Uint8Array, syntax: NalSyntax): CodedFrame {
  let size: Size | null = null;
  let content: FrameContent = 'nothing';
  let sequences = 0;
  let isRecoveryPoint = false;
  for (let at = nextNalUnit(bytes, 0); at !== -1; at = nextNalUnit(bytes, at)) {
    const kind = syntax.kindOf(bytes, at);
    if (isSlice(kind)) return { content: 'picture', hasKey: kind === 'key_slice' || isRecoveryPoint, size };
    if (kind !== 'unknown') content = 'parameters';
    if (kind === 'message') isRecoveryPoint ||= syntax.isRecoveryPoint(bytes, at);
    if (kind === 'sequence' && sequences < sequencesMax) {
      sequences += 1;
      size = larger(size, syntax.sizeOf(new RbspReader(bytes, at + syntax.headerBytes)));
    }
  }
  return { content, hasKey: false, size };
}

function larger(one: Size | null, other: Size | null): Size | null {
  if (one === null || other === null) return one ?? other;
  return one.width * one.height >= other.width * other.height ? one : other;
}

/** Columns and rows of luma to one of chroma, by chroma_format_idc: none, 4:2:0, 4:2:2, 4:4:4. */
const chromaSteps = [
  { columns: 1, rows: 1 },
  { columns: 2, rows: 2 },
  { columns: 2, rows: 1 },
  { columns: 1, rows: 1 },
] as const;

/**
 * Reads the cropping flag and the offsets left, right, top and bottom, in chroma units; a vertical unit is `rowsPerStep` times that.
 * Null: invalid, or nothing is left.
 */
export function readCroppedSize(
  reader: RbspReader,
  coded: Size,
  chromaFormat: number,
  rowsPerStep: number,
): Size | null {
  const steps = chromaSteps[chromaFormat];
  const isCropped = reader.bit() === 1;
  const columns = isCropped ? reader.unsigned() + reader.unsigned() : 0;
  const rows = isCropped ? reader.unsigned() + reader.unsigned() : 0;
  if (steps === undefined || reader.isBroken) return null;
  const width = coded.width - columns * steps.columns;
  const height = coded.height - rows * steps.rows * rowsPerStep;
  return width > 0 && height > 0 ? { width, height } : null;
}
