/** Counts what became of the frames of a session, and how long they took: for its view, and for the metrics of all. */
import { mediaFrameResults, type MediaFrameResult, type MediaView } from '../../model/picture.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';
import { frameTimesKeptMax } from '../../model/limits.ts';

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

  /** Of every frame of a leg, once. */
  frame(result: MediaFrameResult): void {
    this.#frames[result] += 1;
    this.#telemetry.mediaFrames(result, 1);
  }

  rebuilt(count: number): void {
    if (count === 0) return;
    this.#rebuilds += count;
    this.#telemetry.mediaRebuilds(count);
  }

  /** Milliseconds from a frame's coming to its picture, and of the worker alone. */
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

/** How long the last frames took. */
class RecentTimes {
  readonly #timesMs: number[] = [];
  #next = 0;

  add(timeMs: number): void {
    this.#timesMs[this.#next] = timeMs;
    this.#next = (this.#next + 1) % frameTimesKeptMax;
  }

  /** Null: none yet. */
  view(): { readonly p50: number; readonly p99: number } | null {
    if (this.#timesMs.length === 0) return null;
    const sorted = this.#timesMs.toSorted((one, other) => one - other);
    const at = (part: number): number => sorted[Math.ceil(sorted.length * part) - 1] ?? 0;
    return { p50: at(0.5), p99: at(0.99) };
  }
}
