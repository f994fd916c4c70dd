/**
 * The frame rate that a device's network can carry of pass-through video: its share of the bit rate sent, as the device reports it.
 * Requested again whenever it changes. Source: docs/media-protocol.md, WebRTC.
 */
import type { Clock } from '../../lib/clock.ts';
import { framesPerSecondMax, rtcFrameRateAskMsMin } from '../../model/media/rtc-limits.ts';
import { StreamMeter } from '../relay/session-stats.ts';

/** Above this ratio of allowed to sent bits, the frame rate rises, by this factor at a time. */
const roomy = 1.5;
const growth = 1.25;

export class FrameRateWish {
  readonly #clock: Clock;
  readonly #ask: (maxFps: number) => void;
  readonly #meter: StreamMeter;
  #maxFps = framesPerSecondMax;
  #askedMs = Number.NEGATIVE_INFINITY;
  /** Null: unknown. */
  #allowedBits: number | null = null;

  constructor(clock: Clock, ask: (maxFps: number) => void) {
    this.#clock = clock;
    this.#ask = ask;
    this.#meter = new StreamMeter(clock);
  }

  sent(bytes: number): void {
    this.#meter.add('h264', null, bytes);
    this.#judge();
  }

  /** The network can carry this much video. A report that comes too soon is judged when the bridge may be asked again. */
  allow(bitsPerSecond: number): void {
    this.#allowedBits = bitsPerSecond;
    this.#judge();
  }

  #judge(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#allowedBits === null || nowMs - this.#askedMs < rtcFrameRateAskMsMin) return;
    const sending = this.#meter.view();
    if (sending === null) return;
    const share = this.#allowedBits / (sending.bytesPerSecond * 8);
    if (share >= 1 && share < roomy) return;
    const fitting =
      share < 1 ? Math.round(sending.framesPerSecond * share) : Math.ceil(this.#maxFps * growth);
    const maxFps = Math.min(framesPerSecondMax, Math.max(1, fitting));
    if (maxFps === this.#maxFps) return;
    this.#maxFps = maxFps;
    this.#askedMs = nowMs;
    this.#ask(maxFps);
  }
}
