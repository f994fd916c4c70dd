/**
 * The load of a transcoding thread: how much of the time was worked lately, the share that a session is counted with, and
 * what a frame costs, by which a session is judged before it has sent any.
 */
import type { Clock } from '../../lib/clock.ts';
import { loadWindowMs } from '../../model/limits.ts';
import type { Size } from '../../model/call.ts';

/** Estimated load of a call before its first frame. */
export interface TranscodingNeed {
  /** Format that is requested of the bridge. */
  readonly request: Size;
  readonly maxFps: number;
}

const slotMs = 1000;
const slots = loadWindowMs / slotMs;

/**
 * A sliding window of whole seconds, the current one included. It forgets by being read or written, so it needs no timer.
 */
export class BusyWindow {
  readonly #clock: Clock;
  /** Milliseconds worked, by second modulo `slots`. */
  readonly #workMs = new Float64Array(slots);
  #second = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Work that has ended now. */
  add(workMs: number): void {
    this.#move(this.#clock.monotonicMs());
    const slot = this.#second % slots;
    this.#workMs[slot] = (this.#workMs[slot] ?? 0) + workMs;
  }

  /** Of the window's time, 0 to 1; a window younger than its length counts what was before it as idle. */
  share(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#move(nowMs);
    const coveredMs = loadWindowMs - slotMs + (nowMs - this.#second * slotMs);
    return Math.min(1, this.#workMs.reduce((sum, workMs) => sum + workMs, 0) / coveredMs);
  }

  /** True: there was work in every second of it, so its share counts no pause. */
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

/** Decoding H.264 and encoding a smaller picture, on a slow core. */
const firstFrame = { pixels: 640 * 480, workMs: 1.3 };
const framesRemembered = 1024;
const kept = 1 - 1 / framesRemembered;

/** What a frame costs a worker: a running average over those decoded lately, weighted by their pixels. */
export class FrameCost {
  #pixels = framesRemembered * firstFrame.pixels;
  #workMs = framesRemembered * firstFrame.workMs;

  /** A frame of which pictures were made. */
  add(source: Size, workMs: number): void {
    this.#pixels = this.#pixels * kept + source.width * source.height;
    this.#workMs = this.#workMs * kept + workMs;
  }

  /** Of one worker's time, if what is asked for comes; above 1: more than a worker can do. */
  share({ request, maxFps }: TranscodingNeed): number {
    const frameMs = (request.width * request.height * this.#workMs) / this.#pixels;
    return (frameMs * maxFps) / 1000;
  }
}

/**
 * The share of a worker that one session is counted with. At first the one reserved for it; once it has sent frames all
 * through a window, the measured one. While it pauses it keeps the last, for it may go on any moment; what it takes
 * beyond that counts at once.
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

  /** Its worker has spent so long on a frame of it. */
  add(workMs: number): void {
    this.#window.add(workMs);
    if (this.#window.isSteady()) this.#kept = this.#window.share();
  }

  get share(): number {
    return Math.max(this.#kept, this.#window.share());
  }
}
