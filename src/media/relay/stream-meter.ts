/** Measures a stream of video: frames and bytes a second, over the last seconds. */
import type { Clock } from '../../lib/clock.ts';
import type { Size } from '../../model/call.ts';
import type { StreamView, VideoFrameFormat } from '../../model/picture.ts';

const slotMs = 500;
const slots = 8;
/** The shortest time that a rate is computed from. */
const spanMsMin = 1000;

export class StreamMeter {
  readonly #clock: Clock;
  /** Of the latest slots, each at its number modulo theirs. */
  readonly #frames = new Float64Array(slots);
  readonly #bytes = new Float64Array(slots);
  #slot = 0;
  /** Null: nothing has come. */
  #startedAtMs: number | null = null;
  #format: VideoFrameFormat = 'h264';
  #size: Size | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `size` null: as the one before, of the same format. */
  add(format: VideoFrameFormat, size: Size | null, bytes: number): void {
    const nowMs = this.#clock.monotonicMs();
    this.#startedAtMs ??= nowMs;
    if (size !== null || format !== this.#format) this.#size = size;
    this.#format = format;
    this.#turnTo(Math.floor(nowMs / slotMs));
    const at = this.#slot % slots;
    this.#frames[at] = (this.#frames[at] ?? 0) + 1;
    this.#bytes[at] = (this.#bytes[at] ?? 0) + bytes;
  }

  /** Null: nothing has come. */
  view(): StreamView | null {
    if (this.#startedAtMs === null) return null;
    const nowMs = this.#clock.monotonicMs();
    this.#turnTo(Math.floor(nowMs / slotMs));
    const keptMs = (slots - 1) * slotMs + (nowMs % slotMs);
    const seconds = Math.max(spanMsMin, Math.min(keptMs, nowMs - this.#startedAtMs)) / 1000;
    return {
      format: this.#format,
      size: this.#size,
      framesPerSecond: sum(this.#frames) / seconds,
      bytesPerSecond: sum(this.#bytes) / seconds,
    };
  }

  /** Empties the slots between, which nothing came in. */
  #turnTo(slot: number): void {
    for (let empty = Math.max(this.#slot + 1, slot - slots + 1); empty <= slot; empty++) {
      this.#frames[empty % slots] = 0;
      this.#bytes[empty % slots] = 0;
    }
    this.#slot = slot;
  }
}

function sum(numbers: Float64Array): number {
  return numbers.reduce((total, number) => total + number, 0);
}
