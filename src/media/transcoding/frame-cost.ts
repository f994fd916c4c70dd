/**
 * What a frame costs a worker, as a running average over those decoded lately, weighted by their pixels. By it a session
 * is judged before it has sent any.
 */
import type { Size } from '../../model/call.ts';
import type { TranscodingNeed } from '../../core/ports/transcoders.ts';

/** Decoding H.264 and encoding a smaller picture, on a slow core. */
const firstFrame = { pixels: 640 * 480, workMs: 1.3 };
const framesRemembered = 1024;
const kept = 1 - 1 / framesRemembered;

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
