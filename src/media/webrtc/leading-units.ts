/** NAL units without a slice, such as parameter sets, kept for the picture that follows; beyond a limit the oldest is dropped. */
import { parameterSetsMax } from '../../model/media/decoding-limits.ts';
import { rtcLeadingBytesMax } from '../../model/media/rtc-limits.ts';
import { isTrailing } from '../../protocol/rtp/h264-payload.ts';

export class LeadingUnits {
  #units: Uint8Array[] = [];
  #bytes = 0;

  /** A unit that is already kept moves to the last place. */
  add(units: readonly Uint8Array[]): void {
    for (const unit of units) {
      if (isTrailing(unit)) continue;
      this.#remove(this.#units.findIndex((other) => Buffer.compare(other, unit) === 0));
      this.#units.push(unit);
      this.#bytes += unit.length;
      while (this.#units.length > parameterSetsMax || this.#bytes > rtcLeadingBytesMax) this.#remove(0);
    }
  }

  /** Returns and removes the kept units. */
  empty(): Uint8Array[] {
    const units = this.#units;
    this.#units = [];
    this.#bytes = 0;
    return units;
  }

  #remove(index: number): void {
    if (index === -1) return;
    const [removed] = this.#units.splice(index, 1);
    this.#bytes -= removed?.length ?? 0;
  }
}
