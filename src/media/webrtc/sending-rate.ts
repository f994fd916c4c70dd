/**
 * The bit rate of video that a client can receive: the lower of its own estimate (REMB) and of what its loss reports permit. Without
 * loss the latter rises again. Source: draft-ietf-rmcat-gcc-02, 6 (loss-based).
 */

const lossHigh = 0.1;
const lossLow = 0.02;
const growth = 1.08;
const bitrateMin = 50_000;
/** Smaller changes are not reported. */
const changeMin = 0.1;

export class SendingRate {
  readonly #changed: (bitsPerSecond: number) => void;
  #remb = Infinity;
  #byLoss = Infinity;
  #notified = Infinity;

  constructor(changed: (bitsPerSecond: number) => void) {
    this.#changed = changed;
  }

  /** REMB: the client's own estimate. */
  recordRemb(bitsPerSecond: number): void {
    this.#remb = Math.max(bitrateMin, bitsPerSecond);
    this.#notify();
  }

  /** `fractionLost`: 0 to 1, since the last report; `sentBitsPerSecond`: in the same time. */
  recordLoss(fractionLost: number, sentBitsPerSecond: number): void {
    // The sending rate is not known yet.
    if (sentBitsPerSecond === 0) return;
    if (fractionLost > lossHigh) {
      const base = Math.min(this.#byLoss, sentBitsPerSecond);
      this.#byLoss = Math.max(bitrateMin, base * (1 - fractionLost / 2));
    } else if (fractionLost < lossLow) this.#byLoss *= growth;
    this.#notify();
  }

  #notify(): void {
    const rate = Math.min(this.#remb, this.#byLoss);
    if (!Number.isFinite(rate) || Math.abs(rate - this.#notified) < this.#notified * changeMin) return;
    this.#notified = rate;
    this.#changed(Math.round(rate));
  }
}
