/**
 * The load of a transcoding thread: its recent busy time, the share that a session counts for, and the cost of a frame, which estimates
 * a session before its first frame.
 */
import type { Clock } from '../../lib/clock.ts';
import { loadWindowMs } from '../../model/limits.ts';
import type { Size } from '../../model/call.ts';

/** Estimated load of a call before its first frame. */
export interface TranscodingNeed {
  /** Size that is requested from the bridge. */
  readonly request: Size;
  readonly maxFps: number;
}

const slotMs = 1000;
const slots = loadWindowMs / slotMs;

/** A sliding window of whole seconds, including the current one. Reads and writes expire old seconds, so it needs no timer. */
export class BusyWindow {
  readonly #clock: Clock;
  /** Milliseconds worked, by second modulo `slots`. */
  readonly #workMs = new Float64Array(slots);
  #second = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(workMs: number): void {
    this.#move(this.#clock.monotonicMs());
    const slot = this.#second % slots;
    this.#workMs[slot] = (this.#workMs[slot] ?? 0) + workMs;
  }

  /** Share of the window's time, 0 to 1; time before the start counts as idle. */
  share(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#move(nowMs);
    const coveredMs = loadWindowMs - slotMs + (nowMs - this.#second * slotMs);
    return Math.min(1, this.#workMs.reduce((sum, workMs) => sum + workMs, 0) / coveredMs);
  }

  /** True: every second of the window had work, so its share includes no pause. */
  isSteady(): boolean {
    this.#move(this.#clock.monotonicMs());
    return this.#workMs.every((workMs) => workMs > 0);
  }

  #move(nowMs: number): void {
    const second = Math.floor(nowMs / slotMs);
    const passed = Math.min(second - this.#second, slots);
    for (let back = 0; back < passed; back++) this.#workMs[(second - back) % slots] = 0;
    this.#second = second;
  }
}

/** Cost of decoding H.264 and encoding a smaller picture, on a slow core. */
const firstFrame = { pixels: 640 * 480, workMs: 1.3 };
const framesRemembered = 1024;
const kept = 1 - 1 / framesRemembered;

/** The cost of a frame for a worker: a running average over recent frames, weighted by pixels. */
export class FrameCost {
  #pixels = framesRemembered * firstFrame.pixels;
  #workMs = framesRemembered * firstFrame.workMs;

  /** A frame that pictures were made of. */
  add(source: Size, workMs: number): void {
    this.#pixels = this.#pixels * kept + source.width * source.height;
    this.#workMs = this.#workMs * kept + workMs;
  }

  /** Share of one worker's time if frames come as requested; above 1: more than a worker can do. */
  share({ request, maxFps }: TranscodingNeed): number {
    const frameMs = (request.width * request.height * this.#workMs) / this.#pixels;
    return (frameMs * maxFps) / 1000;
  }
}

/**
 * The share of a worker that a session counts for: at first the reserved one; after a full window of frames, the measured one. During a
 * pause it keeps the last value, because frames may resume at any moment; additional work counts at once.
 */
export class SessionLoad {
  readonly #window: BusyWindow;
  #kept: number;
  readonly kind: 'pictures' | 'sound';

  constructor(clock: Clock, reserved: number, kind: SessionLoad['kind'] = 'pictures') {
    this.kind = kind;
    this.#window = new BusyWindow(clock);
    this.#kept = reserved;
  }

  add(workMs: number): void {
    this.#window.add(workMs);
    if (this.#window.isSteady()) this.#kept = this.#window.share();
  }

  get share(): number {
    return Math.max(this.#kept, this.#window.share());
  }
}
