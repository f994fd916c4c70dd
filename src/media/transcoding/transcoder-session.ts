/** Sessions on a transcoding thread: what each asks of it goes there one by one, and is counted as its load. */
import { assert } from '../../lib/assert.ts';
import type { FrameDescription, FrameResult, PictureShape, SourceFrame } from '../../model/media/picture.ts';
import type { SampleShape, SoundPacket, SoundResult, SoundShape } from '../../model/media/sound.ts';
import type { SoundTranscoder, Transcoder } from '../../core/ports/transcoders.ts';
import type { FrameCost, SessionLoad } from './transcoder-load.ts';
import type { TranscoderThread } from './transcoder-thread.ts';

interface FrameSessionOptions {
  readonly load: SessionLoad;
  readonly cost: FrameCost;
  /** Share of the thread's time that sessions may take. */
  readonly loadMax: number;
}

/** Its frames go to its thread one at a time, and their cost is counted. */
export class FrameSession implements Transcoder {
  readonly #number: number;
  readonly #thread: TranscoderThread;
  readonly #load: SessionLoad;
  readonly #cost: FrameCost;
  readonly #loadMax: number;
  #state: 'idle' | 'working' | 'closed' = 'idle';

  /** `number`: one that no other session has had. It is counted on the thread from now on, with `load`. */
  constructor(number: number, thread: TranscoderThread, { load, cost, loadMax }: FrameSessionOptions) {
    this.#loadMax = loadMax;
    this.#number = number;
    this.#thread = thread;
    this.#load = load;
    this.#cost = cost;
    thread.addSession(load);
  }

  get hasTimeToSpare(): boolean {
    return this.#thread.load <= this.#loadMax;
  }

  async take(
    frame: SourceFrame,
    shapes: readonly PictureShape[],
    description: FrameDescription,
    isKeyWanted = false,
  ): Promise<FrameResult> {
    assert(this.#state === 'idle', 'a session has one frame under way, and none after its end');
    this.#state = 'working';
    const result = await this.#thread.take({
      session: this.#number,
      frame,
      shapes,
      description,
      isKeyWanted,
    });
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

/** One direction of a call's sound. */
export class SoundSession implements SoundTranscoder {
  readonly #number: number;
  readonly #thread: TranscoderThread;
  readonly #load: SessionLoad;
  #state: 'idle' | 'working' | 'closed' = 'idle';

  /** As of frames. */
  constructor(number: number, thread: TranscoderThread, load: SessionLoad) {
    this.#number = number;
    this.#thread = thread;
    this.#load = load;
    thread.addSession(load);
  }

  async take(
    packet: SoundPacket,
    assumed: SampleShape,
    targets: readonly SoundShape[],
  ): Promise<SoundResult> {
    assert(this.#state === 'idle', 'a session has one packet under way, and none after its end');
    this.#state = 'working';
    // What is sent to a thread takes its whole buffer with it.
    const alone = { ...packet, payload: packet.payload.slice() };
    const result = await this.#thread.takeSound({ session: this.#number, packet: alone, assumed, targets });
    if (this.#isWorking) this.#state = 'idle';
    this.#load.add(result.workMs);
    return result;
  }

  close(): void {
    assert(this.#state !== 'closed', 'a session is closed once');
    this.#state = 'closed';
    void this.#thread.closeSession(this.#number, this.#load);
  }

  get #isWorking(): boolean {
    return this.#state === 'working';
  }
}
