/** One session on its thread: its frames go there one at a time, and what they cost is counted. */
import { assert } from '../../lib/assert.ts';
import type { FrameResult, PictureShape, SourceFrame } from '../../model/picture.ts';
import type { Transcoder } from '../../core/ports/transcoders.ts';
import type { FrameCost } from './frame-cost.ts';
import type { SessionLoad } from './session-load.ts';
import type { TranscoderThread } from './transcoder-thread.ts';

export interface SessionDeps {
  readonly thread: TranscoderThread;
  readonly load: SessionLoad;
  readonly cost: FrameCost;
  readonly onClose: () => void;
}

export class TranscoderSession implements Transcoder {
  readonly #number: number;
  readonly #deps: SessionDeps;
  #state: 'idle' | 'working' | 'closed' = 'idle';

  constructor(number: number, deps: SessionDeps) {
    this.#number = number;
    this.#deps = deps;
  }

  async take(frame: SourceFrame, shapes: readonly PictureShape[]): Promise<FrameResult> {
    assert(this.#state === 'idle', 'a session has one frame under way, and none after its end');
    this.#state = 'working';
    const result = await this.#deps.thread.take({ session: this.#number, frame, shapes });
    this.#count(result);
    return result;
  }

  close(): void {
    assert(this.#state !== 'closed', 'a session is closed once');
    this.#state = 'closed';
    this.#deps.onClose();
  }

  #count({ source, pictures, workMs }: FrameResult): void {
    if (this.#state === 'working') this.#state = 'idle';
    this.#deps.load.add(workMs);
    if (source !== null && pictures.some((picture) => typeof picture !== 'string'))
      this.#deps.cost.add(source, workMs);
  }
}
