/** Sessions on a transcoding thread: what each asks of it goes there one by one, and is counted as its load. */
import { assert } from '../../lib/assert.ts';
import type { FrameDescription, FrameResult, PictureShape, SourceFrame } from '../../model/media/picture.ts';
import type { SampleShape, SoundPacket, SoundResult, SoundShape } from '../../model/media/sound.ts';
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

  /** Frees what it holds, behind what it still does. Nothing is asked of it any more. */
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

/** The decoder, the scalers and the encoders of one session: its frames go to its thread, and their cost is counted. */
export class FrameSession extends ThreadSession {
  readonly #cost: FrameCost;
  readonly #loadMax: number;

  constructor(number: number, thread: TranscoderThread, { load, cost, loadMax }: FrameSessionOptions) {
    super(number, thread, load);
    this.#loadMax = loadMax;
    this.#cost = cost;
  }

  /** Its worker has time for all that its sessions take at the moment. */
  get hasTimeToSpare(): boolean {
    return this.thread.load <= this.#loadMax;
  }

  /**
   * One frame at a time: the next is asked when this one is answered. The payload is moved: its buffer is detached.
   * `description`: the frame's. `isKeyWanted`: its pictures are to build on nothing before them; no, if left out.
   * Without shapes the frame is decoded only, for the sake of those behind it. Never rejects: what a dead worker had is
   * answered with the drop `engine`, and a frame that took its worker too long with `overdue`.
   */
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

/** The decoder, the resamplers and the encoders of one direction of a session's sound. */
export class SoundSession extends ThreadSession {
  /**
   * As of frames. `assumed`: rate and channels of formats that do not tell theirs, which are A-law and PCM; of AMR the rate is a
   * hint. The payload is copied.
   */
  take(packet: SoundPacket, assumed: SampleShape, targets: readonly SoundShape[]): Promise<SoundResult> {
    // What is sent to a thread takes its whole buffer with it.
    const alone = { ...packet, payload: packet.payload.slice() };
    return this.run(() => this.thread.takeSound({ session: this.number, packet: alone, assumed, targets }));
  }
}

/** The part of a session that the relay uses. */
export type Transcoder = Pick<FrameSession, 'hasTimeToSpare' | 'take' | 'close'>;
export type SoundTranscoder = Pick<SoundSession, 'take' | 'close'>;
