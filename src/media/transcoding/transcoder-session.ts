/** Sessions on a transcoding thread: each sends its tasks one by one, and counts as load. */
import { assert } from '../../lib/assert.ts';
import type { FrameDescription, FrameResult, PictureShape, SourceFrame } from '../../model/media/picture.ts';
import {
  isSelfDescribing,
  type SampleShape,
  type SoundPacket,
  type SoundResult,
  type SoundShape,
} from '../../model/media/sound.ts';
import { PacketTranscoder } from '../codec/packet-transcoder.ts';
import type { MainThreadSound } from './main-thread-sound.ts';
import type { FrameCost, SessionLoad } from './transcoder-load.ts';
import { lostSound } from './transcoder-task.ts';
import type { TranscoderThread } from './transcoder-thread.ts';

/** Runs one task at a time. */
class ThreadSession {
  protected readonly number: number;
  protected readonly thread: TranscoderThread;
  readonly #load: SessionLoad;
  #state: 'idle' | 'working' | 'closed' = 'idle';

  /** `number`: unique among all sessions. Counts as load of the thread from now on. */
  constructor(number: number, thread: TranscoderThread, load: SessionLoad) {
    this.number = number;
    this.thread = thread;
    this.#load = load;
    thread.addSession(load);
  }

  /** Frees its objects after the running task. It must not be used afterwards. */
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
    if (this.isWorking) this.#state = 'idle';
    this.#load.add(result.workMs);
    return result;
  }

  protected get isWorking(): boolean {
    return this.#state === 'working';
  }
}

interface FrameSessionOptions {
  readonly load: SessionLoad;
  readonly cost: FrameCost;
  /** Share of the thread's time that sessions may take. */
  readonly loadMax: number;
}

/** The decoder, scalers and encoders of one session: sends frames to its thread and records their cost. */
export class FrameSession extends ThreadSession {
  readonly #cost: FrameCost;
  readonly #loadMax: number;

  constructor(number: number, thread: TranscoderThread, { load, cost, loadMax }: FrameSessionOptions) {
    super(number, thread, load);
    this.#loadMax = loadMax;
    this.#cost = cost;
  }

  /** Its worker has time for all its sessions at the moment. */
  get hasTimeToSpare(): boolean {
    return this.thread.load <= this.#loadMax;
  }

  /**
   * Transcodes one frame at a time. The payload is transferred: its buffer is detached. `description`: of this frame. `isKeyWanted`: the
   * pictures must be key frames; default false. Without shapes the frame is only decoded, for the frames that depend on it. Never
   * rejects: frames of a dead worker are answered with the drop `engine`, and a frame that exceeded its time with `overdue`.
   */
  async transcode(
    frame: SourceFrame,
    shapes: readonly PictureShape[],
    description: FrameDescription,
    isKeyWanted = false,
  ): Promise<FrameResult> {
    const task = { session: this.number, frame, shapes, description, isKeyWanted };
    const result = await this.run(() => this.thread.transcodeFrame(task));
    const { source, pictures, workMs } = result;
    if (source !== null && pictures.some((picture) => typeof picture !== 'string'))
      this.#cost.add(source, workMs);
    return result;
  }
}

/** The decoder, the resamplers and the encoders of one direction of a session's sound. */
export class SoundSession extends ThreadSession {
  readonly #main: MainThreadSound;
  /** `worker`: for the rest of the session, because its decoder and timeline are there. */
  #place: 'main' | 'worker' = 'main';
  /** On the main thread. Null: none. */
  #transcoder: PacketTranscoder | null = null;

  constructor(number: number, thread: TranscoderThread, load: SessionLoad, main: MainThreadSound) {
    super(number, thread, load);
    this.#main = main;
  }

  /**
   * Like `FrameSession.transcode`, but the payload is copied. `assumed`: rate and channels of A-law and PCM, which do not carry their
   * own; for AMR the rate is a hint.
   */
  transcode(packet: SoundPacket, assumed: SampleShape, targets: readonly SoundShape[]): Promise<SoundResult> {
    // An encoder costs many times the way to the worker.
    if (targets.some(({ format }) => isSelfDescribing(format))) this.#moveToWorker();
    return this.run(
      async () =>
        (await this.#transcodeHere(packet, assumed, targets)) ??
        this.thread.transcodeSound({
          session: this.number,
          // Posting to a thread copies the whole underlying buffer.
          packet: { ...packet, payload: packet.payload.slice() },
          assumed,
          targets,
        }),
    );
  }

  override close(): void {
    super.close();
    this.#moveToWorker();
  }

  /** Null: the worker must do it. */
  async #transcodeHere(...task: Parameters<PacketTranscoder['transcode']>): Promise<SoundResult | null> {
    if (this.#place === 'worker') return null;
    let result: SoundResult | null = null;
    try {
      result = await this.#main.perform((engine) => {
        if (!this.isWorking) return lostSound;
        this.#transcoder ??= new PacketTranscoder(engine);
        return this.#transcoder.transcode(...task);
      });
    } catch {
      // The worker reports the fault if the packet is to blame.
    }
    if (result === null) this.#moveToWorker();
    return result;
  }

  #moveToWorker(): void {
    this.#place = 'worker';
    this.#transcoder?.close();
    this.#transcoder = null;
  }
}

export type Transcoder = Pick<FrameSession, 'hasTimeToSpare' | 'transcode' | 'close'>;
export type SoundTranscoder = Pick<SoundSession, 'transcode' | 'close'>;
