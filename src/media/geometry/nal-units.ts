/**
 * The NAL units of an Annex B byte stream: where each begins, and its fields bit by bit, without its emulation prevention
 * bytes. Source: ITU-T H.264, Annex B, 7.2, 7.3.1 and 9.1, and H.265, the same.
 */

/**
 * Index of the first byte behind the next start code at or after `from`; -1: there is none, or nothing behind it. A
 * start code of four bytes is one of three with a zero before it.
 */
export function nextNalUnit(bytes: Uint8Array, from: number): number {
  let at = from + 2;
  while (at < bytes.length - 1) {
    const last = bytes[at] ?? 0;
    // Three steps at once: a byte that is neither 0 nor 1 is in no start code.
    if (last > 1) at += 3;
    else if (last === 1 && bytes[at - 1] === 0 && bytes[at - 2] === 0) return at + 1;
    else at += 1;
  }
  return -1;
}

/** Values of exp-Golomb codes are below 2^32. */
const leadingZeroesMax = 31;

/** Ends where the next start code begins, so that nobody has to look for the end first. */
export class RbspReader {
  readonly #bytes: Uint8Array;
  /** Of the byte to read next. */
  #at: number;
  #byte = 0;
  #bitsLeft = 0;
  #zeroBytes = 0;
  #isBroken = false;

  /** `from`: behind the header of the NAL unit. */
  constructor(bytes: Uint8Array, from: number) {
    this.#bytes = bytes;
    this.#at = from;
  }

  /** More was read than there is, or a code that is none; what was read since is worth nothing. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** 0 or 1; 0 once it is broken. */
  bit(): number {
    if (this.#bitsLeft === 0) this.#nextByte();
    if (this.#isBroken) return 0;
    this.#bitsLeft -= 1;
    return (this.#byte >> this.#bitsLeft) & 1;
  }

  /** At most 32 of them, the first is the highest. */
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

  /** Of the zeros at the end none is of the unit, be they of a start code or before it. */
  #isAtEnd(): boolean {
    const [at, bytes] = [this.#at, this.#bytes];
    return bytes[at] === 0 && (bytes[at + 1] ?? 0) === 0 && (bytes[at + 2] ?? 0) < 3;
  }
}
