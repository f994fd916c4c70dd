/** Session statistics: the rate of its streams, the results of its frames, and their times. */
import type { Clock } from '../../lib/clock.ts';
import type { Size } from '../../model/call.ts';
import {
  type VideoFrameFormat,
  mediaFrameResults,
  type MediaFrameResult,
} from '../../model/media/picture.ts';
import type { StreamView, MediaView } from '../../protocol/media-link/media-values.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { frameTimesKeptMax } from '../../model/limits.ts';

const slotMs = 500;
const slots = 8;
const spanMsMin = 1000;

export class StreamMeter {
  readonly #clock: Clock;
  /** Latest slots, each at its number modulo `slots`. */
  readonly #frames = new Float64Array(slots);
  readonly #bytes = new Float64Array(slots);
  #slot = 0;
  #startedAtMs: number | null = null;
  #format: VideoFrameFormat = 'h264';
  #size: Size | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `size` null: unchanged, if the format is. */
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

/** Counts the results of frames, and their times, for the session's view and for the metrics of all. */
export class FrameTally {
  readonly #frameTimes = new RecentTimes();
  readonly #workTimes = new RecentTimes();
  readonly #telemetry: MediaTelemetry;
  readonly #frames = zeroes();
  #rebuilds = 0;
  #keyFramesAsked = 0;

  constructor(telemetry: MediaTelemetry) {
    this.#telemetry = telemetry;
  }

  view(): Pick<MediaView, 'frames' | 'rebuilds' | 'keyFramesAsked' | 'frameMs' | 'workMs'> {
    return {
      frames: { ...this.#frames },
      rebuilds: this.#rebuilds,
      keyFramesAsked: this.#keyFramesAsked,
      frameMs: this.#frameTimes.view(),
      workMs: this.#workTimes.view(),
    };
  }

  frame(result: MediaFrameResult): void {
    this.#frames[result] += 1;
    this.#telemetry.mediaFrames(result, 1);
  }

  rebuilt(count: number): void {
    if (count === 0) return;
    this.#rebuilds += count;
    this.#telemetry.mediaRebuilds(count);
  }

  /** Milliseconds from a frame's arrival to its picture, and of worker time alone. */
  pictureMade(frameMs: number, workMs: number): void {
    this.#frameTimes.add(frameMs);
    this.#workTimes.add(workMs);
    this.#telemetry.mediaFrameTime(frameMs / 1000);
  }

  keyFrameAsked(): void {
    this.#keyFramesAsked += 1;
  }
}

function zeroes(): Record<MediaFrameResult, number> {
  return Object.fromEntries(mediaFrameResults.map((result) => [result, 0])) as Record<
    MediaFrameResult,
    number
  >;
}

class RecentTimes {
  readonly #timesMs: number[] = [];
  #next = 0;

  add(timeMs: number): void {
    this.#timesMs[this.#next] = timeMs;
    this.#next = (this.#next + 1) % frameTimesKeptMax;
  }

  view(): { readonly p50: number; readonly p99: number } | null {
    if (this.#timesMs.length === 0) return null;
    const sorted = this.#timesMs.toSorted((one, other) => one - other);
    const at = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
    return { p50: at(0.5), p99: at(0.99) };
  }
}
