/**
 * The timeline of a source's sound: accepts packets of any length and timestamp, and returns blocks of 20 ms, each at its place. Gaps
 * become silence; a fast or slow clock is followed. Source: calls-and-media.md, Legs.
 */
import type { SampleShape } from '../../model/media/sound.ts';
import { soundBlockMs, soundJumpMs } from '../../model/media/sound-limits.ts';
import { stretch } from './stretch.ts';

/** 20 ms of interleaved samples, which may lie in those that were pushed. */
export interface SoundBlock {
  readonly timestampMs: number;
  readonly samples: Int16Array<ArrayBuffer>;
}

/** Packets jitter: only a deviation of this many times the average is a gap, or late. */
const jitterTimes = 3;
const [gapMsMin, lateMsMin] = [10, 40];
/** Initial jitter, and the most that one packet can add. */
const [jitterMsFirst, jitterStepMsMax] = [3, 60];
/** Packets over which jitter and offset are averaged. */
const [jitterPackets, offsetPackets] = [16, 32];
/** Smaller offsets are not corrected. */
const offsetMsMax = 5;
/** One in this many samples per channel is inserted or removed; more would be audible. */
const momentsPerChange = 160;

export class SoundTimeline {
  readonly #rate: number;
  readonly #channels: number;
  /** Timestamp of the block being filled; null: no packet yet. */
  #blockMs: number | null = null;
  #block: Int16Array<ArrayBuffer>;
  #filled = 0;
  #lastTimestampMs = 0;
  /** Deviation of the last packet from its expected time, and its average; positive: later. */
  #errorMs = 0;
  #offsetMs = 0;
  #jitterMs = jitterMsFirst;
  /** Samples per channel since the last correction: a packet may be too short for one. */
  #unchanged = 0;

  constructor({ rate, channels }: SampleShape) {
    this.#rate = rate;
    this.#channels = channels;
    this.#block = this.#emptyBlock();
  }

  /** True: later packets were already processed. The packet would be misplaced, and would mislead a decoder. */
  isOutOfTurn(timestampMs: number): boolean {
    const backMs = this.#lastTimestampMs - timestampMs;
    return this.#blockMs !== null && backMs > 0 && backMs <= soundJumpMs;
  }

  /** True: the packet begins a new timeline, independent of earlier packets. */
  isJump(timestampMs: number): boolean {
    return this.#blockMs !== null && Math.abs(timestampMs - this.#endMs(this.#blockMs)) > soundJumpMs;
  }

  /** Returns the completed blocks. `samples`: of a packet that is in order. */
  push(timestampMs: number, samples: Int16Array<ArrayBuffer>): SoundBlock[] {
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
    this.#resetOffset();
  }

  #resetOffset(): void {
    this.#errorMs = 0;
    this.#offsetMs = 0;
  }

  #fillGap(gapMs: number, samples: Int16Array<ArrayBuffer>): SoundBlock[] {
    this.#resetOffset();
    const silence = new Int16Array(this.#samplesOf(gapMs));
    return [...this.#append(silence), ...this.#append(samples)];
  }

  /** Skips the samples whose place is already filled. */
  #skipLate(lateMs: number, samples: Int16Array<ArrayBuffer>): SoundBlock[] {
    const skipped = this.#samplesOf(lateMs);
    if (skipped < samples.length) this.#resetOffset();
    return this.#append(samples.subarray(skipped));
  }

  /** Inserts or removes a few samples if the source's clock deviates. */
  #follow(samples: Int16Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
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

  #append(samples: Int16Array<ArrayBuffer>): SoundBlock[] {
    const full: SoundBlock[] = [];
    for (let at = 0; at < samples.length;) {
      const taken = samples.subarray(at, at + this.#block.length - this.#filled);
      at += taken.length;
      if (taken.length === this.#block.length) {
        full.push(this.#complete(taken));
        continue;
      }
      this.#block.set(taken, this.#filled);
      this.#filled += taken.length;
      if (this.#filled < this.#block.length) continue;
      full.push(this.#complete(this.#block));
      this.#block = this.#emptyBlock();
      this.#filled = 0;
    }
    return full;
  }

  #complete(samples: Int16Array<ArrayBuffer>): SoundBlock {
    const timestampMs = (this.#blockMs ?? 0) >>> 0;
    this.#blockMs = (this.#blockMs ?? 0) + soundBlockMs;
    return { timestampMs, samples };
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
