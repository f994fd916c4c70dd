/** Writes the payload that video standards call RBSP, and wraps it as a NAL unit. */

export class BitWriter {
  #bits = '';

  fixed(value: number, bits: number): this {
    this.#bits += value.toString(2).padStart(bits, '0').slice(-bits);
    return this;
  }

  /** Unsigned Exp-Golomb code, ue(v). */
  unsigned(...values: number[]): this {
    for (const value of values) {
      const digits = (value + 1).toString(2);
      this.#bits += '0'.repeat(digits.length - 1) + digits;
    }
    return this;
  }

  /** Signed Exp-Golomb code, se(v). */
  signed(...values: number[]): this {
    return this.unsigned(...values.map((value) => (value > 0 ? 2 * value - 1 : -2 * value)));
  }

  /** A NAL unit: start code, `header`, and the bits written so far, with stop bit and emulation prevention. */
  nalUnit(header: readonly number[]): Buffer {
    const bits = `${this.#bits}1`;
    const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0');
    const payload = (whole.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2));
    const escaped: number[] = [];
    for (const byte of payload) {
      const isCode = escaped.at(-1) === 0 && escaped.at(-2) === 0 && byte <= 3;
      escaped.push(...(isCode ? [3, byte] : [byte]));
    }
    return Buffer.from([0, 0, 0, 1, ...header, ...escaped]);
  }
}
