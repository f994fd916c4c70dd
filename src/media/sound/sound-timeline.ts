/**
 * The time line of a source's sound: packets of any length and with any timestamps in, blocks of 20 ms out, each where its
 * sound belongs. Gaps become silence; a clock that runs fast or slow is followed. Source: calls-and-media.md, Legs.
 */
import type { SampleShape } from '../../model/media/sound.ts';
import { soundBlockMs, soundJumpMs } from '../../model/media/sound-limits.ts';
import { stretch } from './stretch.ts';

/** 20 ms of samples, interleaved, in a buffer of its own. */
export interface SoundBlock {
  readonly timestampMs: number;
  readonly samples: Int16Array<ArrayBuffer>;
}

/** Packets come earlier and later than their sound; only what is beyond so many times the usual is a gap, or too late. */
const jitterTimes = 3;
const [gapMsMin, lateMsMin] = [10, 40];
/** Of the jitter: what is taken for it at first, and the most that one packet adds. */
const [jitterMsFirst, jitterStepMsMax] = [3, 60];
/** Packets over which jitter and offset are averaged. */
const [jitterPackets, offsetPackets] = [16, 32];
/** A smaller offset is left as it is. */
const offsetMsMax = 5;
/** One in so many moments is added or left out; more would be heard. */
const momentsPerChange = 160;

export class SoundTimeline {
  readonly #rate: number;
  readonly #channels: number;
  /** Of the block that is being filled; null: nothing has come yet. */
  #blockMs: number | null = null;
  #block: Int16Array<ArrayBuffer>;
  #filled = 0;
  #lastTimestampMs = 0;
  /** How far the last packet was from where it went, and the average of it; positive: it was later. */
  #errorMs = 0;
  #offsetMs = 0;
  #jitterMs = jitterMsFirst;
  /** Moments since the last change of one: a packet may be too short for a change. */
  #unchanged = 0;

  constructor({ rate, channels }: SampleShape) {
    this.#rate = rate;
    this.#channels = channels;
    this.#block = this.#emptyBlock();
  }

  /** True: those behind it have been taken. It would go in the wrong place, and a decoder would be led astray by it. */
  isOutOfTurn(timestampMs: number): boolean {
    const backMs = this.#lastTimestampMs - timestampMs;
    return this.#blockMs !== null && backMs > 0 && backMs <= soundJumpMs;
  }

  /** True: a new time line begins with it. What came before has nothing to do with it. */
  isJump(timestampMs: number): boolean {
    return this.#blockMs !== null && Math.abs(timestampMs - this.#endMs(this.#blockMs)) > soundJumpMs;
  }

  /** The blocks that are full now. `samples`: of a packet that is not out of turn. */
  take(timestampMs: number, samples: Int16Array): SoundBlock[] {
    this.#lastTimestampMs = timestampMs;
    if (this.#blockMs === null || this.isJump(timestampMs)) {
      this.#begin(timestampMs);
      return this.#append(samples);
    }
    const errorMs = timestampMs - this.#endMs(this.#blockMs);
    const jitterMs = Math.min(Math.abs(errorMs - this.#errorMs), jitterStepMsMax);
    this.#jitterMs += (jitterMs - this.#jitterMs) / jitterPackets;
    if (errorMs >= Math.max(gapMsMin, jitterTimes * this.#jitterMs)) return this.#fillGap(errorMs, samples);
    if (errorMs <= -Math.max(lateMsMin, jitterTimes * this.#jitterMs))
      return this.#skipLate(-errorMs, samples);
    this.#errorMs = errorMs;
    this.#offsetMs += (errorMs - this.#offsetMs) / offsetPackets;
    return this.#append(this.#follow(samples));
  }

  #begin(timestampMs: number): void {
    this.#blockMs = timestampMs;
    this.#filled = 0;
    this.#settle();
  }

  /** What comes now is where it belongs. */
  #settle(): void {
    this.#errorMs = 0;
    this.#offsetMs = 0;
  }

  #fillGap(gapMs: number, samples: Int16Array): SoundBlock[] {
    this.#settle();
    const silence = new Int16Array(this.#samplesOf(gapMs));
    return [...this.#append(silence), ...this.#append(samples)];
  }

  /** Something stands already where its beginning belongs. */
  #skipLate(lateMs: number, samples: Int16Array): SoundBlock[] {
    const skipped = this.#samplesOf(lateMs);
    if (skipped < samples.length) this.#settle();
    return this.#append(samples.subarray(skipped));
  }

  /** A few samples more or fewer, where the source's clock is off. */
  #follow(samples: Int16Array): Int16Array {
    if (Math.abs(this.#offsetMs) < offsetMsMax) {
      this.#unchanged = 0;
      return samples;
    }
    const moments = samples.length / this.#channels;
    this.#unchanged += moments;
    const change = Math.floor(this.#unchanged / momentsPerChange) * Math.sign(this.#offsetMs);
    this.#unchanged %= momentsPerChange;
    this.#offsetMs -= (change / this.#rate) * 1000;
    return change === 0 ? samples : stretch(samples, this.#channels, moments + change);
  }

  #append(samples: Int16Array): SoundBlock[] {
    const full: SoundBlock[] = [];
    for (let at = 0; at < samples.length;) {
      const taken = samples.subarray(at, at + this.#block.length - this.#filled);
      this.#block.set(taken, this.#filled);
      this.#filled += taken.length;
      at += taken.length;
      if (this.#filled === this.#block.length) full.push(this.#takeBlock());
    }
    return full;
  }

  #takeBlock(): SoundBlock {
    const block = { timestampMs: (this.#blockMs ?? 0) >>> 0, samples: this.#block };
    this.#blockMs = (this.#blockMs ?? 0) + soundBlockMs;
    this.#block = this.#emptyBlock();
    this.#filled = 0;
    return block;
  }

  #emptyBlock(): Int16Array<ArrayBuffer> {
    return new Int16Array(((this.#rate * soundBlockMs) / 1000) * this.#channels);
  }

  #endMs(blockMs: number): number {
    return blockMs + (this.#filled / this.#channels / this.#rate) * 1000;
  }

  #samplesOf(ms: number): number {
    return Math.round((ms * this.#rate) / 1000) * this.#channels;
  }
}
