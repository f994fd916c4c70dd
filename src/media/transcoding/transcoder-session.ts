/** A session on its thread: its frames go there one at a time, and what they cost is counted. */
import { assert } from '../../lib/assert.ts';
import type { FrameDescription, FrameResult, PictureShape, SourceFrame } from '../../model/picture.ts';
import type { Transcoder } from '../../core/ports/transcoders.ts';
import type { FrameCost, SessionLoad } from './transcoder-load.ts';
import type { TranscoderThread } from './transcoder-thread.ts';

export class TranscoderSession implements Transcoder {
  readonly #number: number;
  readonly #thread: TranscoderThread;
  readonly #load: SessionLoad;
  readonly #cost: FrameCost;
  #state: 'idle' | 'working' | 'closed' = 'idle';

  /** `number`: one that no other session has had. It is counted on the thread from now on, with `load`. */
  constructor(number: number, thread: TranscoderThread, load: SessionLoad, cost: FrameCost) {
    this.#number = number;
    this.#thread = thread;
    this.#load = load;
    this.#cost = cost;
    thread.addSession(load);
  }

  async take(
    frame: SourceFrame,
    shapes: readonly PictureShape[],
    description: FrameDescription,
  ): Promise<FrameResult> {
    assert(this.#state === 'idle', 'a session has one frame under way, and none after its end');
    this.#state = 'working';
    const result = await this.#thread.take({ session: this.#number, frame, shapes, description });
    this.#count(result);
    return result;
  }

  close(): void {
    assert(this.#state !== 'closed', 'a session is closed once');
    this.#state = 'closed';
    void this.#thread.closeSession(this.#number, this.#load);
  }

  #count({ source, pictures, workMs }: FrameResult): void {
    if (this.#state === 'working') this.#state = 'idle';
    this.#load.add(workMs);
    if (source !== null && pictures.some((picture) => typeof picture !== 'string'))
      this.#cost.add(source, workMs);
  }
}
