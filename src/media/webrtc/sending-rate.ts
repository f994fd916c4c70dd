/**
 * The bitrate of video that a client takes: the least of what it says (REMB) and of what its reports of loss leave. Without loss
 * the second rises again. Source: draft-ietf-rmcat-gcc-02, 6 (loss-based).
 */

const lossHigh = 0.1;
const lossLow = 0.02;
const growth = 1.08;
const bitrateMin = 50_000;
/** Changes below it are not worth telling. */
const changeMin = 0.1;

export class SendingRate {
  readonly #changed: (bitsPerSecond: number) => void;
  #said = Infinity;
  #byLoss = Infinity;
  #told = Infinity;

  constructor(changed: (bitsPerSecond: number) => void) {
    this.#changed = changed;
  }

  /** REMB. */
  said(bitsPerSecond: number): void {
    this.#said = Math.max(bitrateMin, bitsPerSecond);
    this.#tell();
  }

  /** `fractionLost`: 0 to 1, since the last report; `sentBitsPerSecond`: in that time. */
  reported(fractionLost: number, sentBitsPerSecond: number): void {
    // Nothing is known yet of what was sent.
    if (sentBitsPerSecond === 0) return;
    if (fractionLost > lossHigh) {
      const base = Math.min(this.#byLoss, sentBitsPerSecond);
      this.#byLoss = Math.max(bitrateMin, base * (1 - fractionLost / 2));
    } else if (fractionLost < lossLow) this.#byLoss *= growth;
    this.#tell();
  }

  #tell(): void {
    const rate = Math.min(this.#said, this.#byLoss);
    if (!Number.isFinite(rate) || Math.abs(rate - this.#told) < this.#told * changeMin) return;
    this.#told = rate;
    this.#changed(Math.round(rate));
  }
}
