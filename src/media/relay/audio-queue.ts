/** Audio that waits for a leg: the newest half second of it. Source: calls-and-media.md, Legs. */
import { audioBytesWaitingMax, audioPacketsWaitingMax, audioWaitingMsMax } from '../../model/limits.ts';

export interface WaitingAudio {
  /** 32 bits: it starts again at 0. */
  readonly timestampMs: number;
  readonly payload: Uint8Array;
}

export class AudioQueue<Audio extends WaitingAudio> {
  readonly #dropped: (audio: Audio) => void;
  readonly #waiting: Audio[] = [];
  #bytes = 0;

  /** `dropped` is told each packet that `shift` will never give. */
  constructor(dropped: (audio: Audio) => void) {
    this.#dropped = dropped;
  }

  /** The newest is always kept, however large. */
  push(audio: Audio): void {
    while (this.#waiting.length > 0 && !this.#hasRoomFor(audio)) {
      const oldest = this.shift();
      if (oldest !== undefined) this.#dropped(oldest);
    }
    this.#waiting.push(audio);
    this.#bytes += audio.payload.length;
  }

  shift(): Audio | undefined {
    const audio = this.#waiting.shift();
    if (audio !== undefined) this.#bytes -= audio.payload.length;
    return audio;
  }

  #hasRoomFor({ timestampMs, payload }: Audio): boolean {
    return (
      this.#waiting.length < audioPacketsWaitingMax &&
      this.#bytes + payload.length <= audioBytesWaitingMax &&
      this.#waiting.every((audio) => isNear(audio.timestampMs, timestampMs))
    );
  }
}

/** A packet out of turn is near, too; a jump, forwards or back, is another stream, beside which the old one is stale. */
function isNear(oneMs: number, otherMs: number): boolean {
  return Math.abs((otherMs - oneMs) | 0) <= audioWaitingMsMax;
}
