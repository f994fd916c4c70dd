/** Sessions on a transcoding thread: what each asks of it goes there one by one, and is counted as its load. */
import { assert } from '../../lib/assert.ts';
import type { FrameDescription, FrameResult, PictureShape, SourceFrame } from '../../model/media/picture.ts';
import type { SampleShape, SoundPacket, SoundResult, SoundShape } from '../../model/media/sound.ts';
import type { SoundTranscoder, Transcoder } from '../../core/ports/transcoders.ts';
import type { FrameCost, SessionLoad } from './transcoder-load.ts';
import type { TranscoderThread } from './transcoder-thread.ts';

/** One task of it is under way at a time. */
class ThreadSession {
  protected readonly number: number;
  protected readonly thread: TranscoderThread;
  readonly #load: SessionLoad;
  #state: 'idle' | 'working' | 'closed' = 'idle';

  /** `number`: one that no other session has had. It is counted on the thread from now on, with `load`. */
  constructor(number: number, thread: TranscoderThread, load: SessionLoad) {
    this.number = number;
    this.thread = thread;
    this.#load = load;
    thread.addSession(load);
  }

  close(): void {
    assert(this.#state !== 'closed', 'a session is closed once');
    this.#state = 'closed';
    void this.thread.closeSession(this.number, this.#load);
  }

  protected async run<Result extends FrameResult | SoundResult>(
    perform: () => Promise<Result>,
  ): Promise<Result> {
    assert(this.#state === 'idle', 'a session has one task under way, and none after its end');
    this.#state = 'working';
    const result = await perform();
    if (this.#isWorking) this.#state = 'idle';
    this.#load.add(result.workMs);
    return result;
  }

  get #isWorking(): boolean {
    return this.#state === 'working';
  }
}

interface FrameSessionOptions {
  readonly load: SessionLoad;
  readonly cost: FrameCost;
  /** Share of the thread's time that sessions may take. */
  readonly loadMax: number;
}

/** Its frames go to its thread, and their cost is counted. */
export class FrameSession extends ThreadSession implements Transcoder {
  readonly #cost: FrameCost;
  readonly #loadMax: number;

  constructor(number: number, thread: TranscoderThread, { load, cost, loadMax }: FrameSessionOptions) {
    super(number, thread, load);
    this.#loadMax = loadMax;
    this.#cost = cost;
  }

  get hasTimeToSpare(): boolean {
    return this.thread.load <= this.#loadMax;
  }

  async take(
    frame: SourceFrame,
    shapes: readonly PictureShape[],
    description: FrameDescription,
    isKeyWanted = false,
  ): Promise<FrameResult> {
    const task = { session: this.number, frame, shapes, description, isKeyWanted };
    const result = await this.run(() => this.thread.take(task));
    const { source, pictures, workMs } = result;
    if (source !== null && pictures.some((picture) => typeof picture !== 'string'))
      this.#cost.add(source, workMs);
    return result;
  }
}

/** One direction of a call's sound. */
export class SoundSession extends ThreadSession implements SoundTranscoder {
  take(packet: SoundPacket, assumed: SampleShape, targets: readonly SoundShape[]): Promise<SoundResult> {
    // What is sent to a thread takes its whole buffer with it.
    const alone = { ...packet, payload: packet.payload.slice() };
    return this.run(() => this.thread.takeSound({ session: this.number, packet: alone, assumed, targets }));
  }
}
