/**
 * The threads that decode, scale and encode. A session keeps to its thread, because its native contexts live there. A session goes where the load is least; one that fits nowhere is refused, not starved.
 * Source: calls-and-media.md, The media process.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { TranscoderSettings } from '../codec/frame-transcoder.ts';
import type { NativeCensus } from '../codec/native-census.ts';
import { abandonedWorkersMax } from '../../model/media/decoding-limits.ts';
import { soundShareFirst } from '../../model/media/sound-limits.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import type { SoundEncoding } from '../../model/media/sound.ts';
import type { WorkerLoad } from '../../model/media/media-capacity.ts';
import type { Log } from '../../lib/log.ts';
import { FrameCost, SessionLoad, type TranscodingNeed } from './transcoder-load.ts';
import type { EngineDescription } from './transcoder-task.ts';
import { FrameSession, SoundSession, type SoundTranscoder, type Transcoder } from './transcoder-session.ts';
import { threadTimeMs } from './thread-time.ts';
import { threadLookMs, type ThreadTime } from './task-watch.ts';
import { TranscoderThread } from './transcoder-thread.ts';
import { moduleBeside } from '../../lib/module-worker.ts';

export interface TranscoderPoolOptions extends TranscoderSettings {
  readonly threads: number;
  /** Share of each thread's time that sessions may take, up to 1. */
  readonly loadMax: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Too many threads hang in native code, or one cannot be replaced: only a new process helps. Called once, with what to log. */
  readonly onWedged: (sentence: string) => void;
  /** The tasks' file; a test has one that can be held up. */
  readonly workerFile?: URL;
  /** The CPU time of a thread; a test scripts it. */
  readonly threadTime?: ThreadTime;
}

/** Of the call by which room is told while none is carried: the larger of the two sizes that bridges ask for. */
const usualNeed: TranscodingNeed = { request: { width: 640, height: 480 }, maxFps: 15 };

const workerFile = moduleBeside('transcoder-worker', import.meta.url);

/** The part of the pool that the relay uses. */
export type Transcoders = Pick<
  TranscoderPool,
  'engine' | 'soundEncoders' | 'open' | 'openSound' | 'refusalOf' | 'workers' | 'close'
>;

export class TranscoderPool {
  readonly #options: TranscoderPoolOptions;
  readonly #cost = new FrameCost();
  #threads: readonly TranscoderThread[];
  #cancelLooks: Cancel | null = null;
  #sessions = 0;
  #engine: EngineDescription | null = null;

  private constructor(options: TranscoderPoolOptions) {
    this.#options = options;
    const { clock, log, quality, maxFps, sourceMax } = options;
    const deps = {
      clock,
      log,
      settings: { quality, maxFps, sourceMax },
      workerFile: options.workerFile ?? workerFile,
      threadTime: options.threadTime ?? threadTimeMs,
      mayAbandon: () => this.abandoned < abandonedWorkersMax,
    };
    this.#threads = Array.from({ length: options.threads }, () => new TranscoderThread(deps));
  }

  /** Resolves when every thread has its engine or none. Never rejects: without engine it refuses, and has logged why. */
  static async open(options: TranscoderPoolOptions): Promise<TranscoderPool> {
    const pool = new TranscoderPool(options);
    await pool.#start();
    return pool;
  }

  /** The version of the decoders' library; null: this machine has none. */
  get engine(): string | null {
    return this.#engine?.version ?? null;
  }

  /** Codecs whose packets can be made here. */
  get soundEncoders(): readonly SoundEncoding[] {
    return this.#engine?.soundEncoders ?? [];
  }

  /** By measured load. `engine`: this machine has no decoder. */
  open(need: TranscodingNeed): Result<Transcoder, ReservationRefusal> {
    const share = this.#cost.share(need);
    const thread = this.#findThread(share);
    if (thread === null) return fail(this.#refusal());
    this.#sessions += 1;
    const load = new SessionLoad(this.#options.clock, share);
    return succeed(
      new FrameSession(this.#sessions, thread, { load, cost: this.#cost, loadMax: this.#options.loadMax }),
    );
  }

  /** As `open`; one direction of sound costs little. */
  openSound(): Result<SoundTranscoder, ReservationRefusal> {
    const thread = this.#findThread(soundShareFirst);
    if (thread === null) return fail(this.#refusal());
    this.#sessions += 1;
    const load = new SessionLoad(this.#options.clock, soundShareFirst, 'sound');
    return succeed(new SoundSession(this.#sessions, thread, load));
  }

  /** The refusal that `open` would give, without a reservation; null: it would accept. */
  refusalOf(need: TranscodingNeed): ReservationRefusal | null {
    return this.#findThread(this.#cost.share(need)) === null ? this.#refusal() : null;
  }

  /** The workers at the moment, in the order of their numbers. */
  workers(): readonly WorkerLoad[] {
    const share = this.#usualShare();
    return this.#threads.map((thread) => ({
      busy: thread.busyShare,
      taken: thread.load,
      room: thread.roomFor(share, this.#options.loadMax),
    }));
  }

  /** Threads that were abandoned and still run. */
  get abandoned(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.abandoned, 0);
  }

  /** Live native objects, by thread, once its tasks are done; null: the thread is gone. */
  countNatives(): Promise<readonly (NativeCensus | null)[]> {
    return Promise.all(this.#threads.map((thread) => thread.countNatives()));
  }

  /** Ends the workers behind what they still do. */
  async close(): Promise<void> {
    this.#cancelLooks?.();
    const threads = this.#threads;
    this.#threads = [];
    await Promise.all(threads.map((thread) => thread.close()));
  }

  async #start(): Promise<void> {
    const { log, clock } = this.#options;
    const engines = await Promise.all(this.#threads.map((thread) => thread.start()));
    const failed = engines.find((engine) => !engine.ok);
    if (failed !== undefined && !failed.ok) {
      await this.close();
      log.warn({}, failed.error);
      return;
    }
    const [engine] = engines;
    if (engine?.ok === true) this.#engine = engine.value;
    this.#cancelLooks = clock.every(threadLookMs, () => this.#look());
  }

  /** Of the calls that are carried now, on the average; beside their pictures their sound takes next to nothing. */
  #usualShare(): number {
    const shares = this.#threads.flatMap((thread) => thread.pictureShares);
    const taken = shares.reduce((sum, share) => sum + share, 0);
    return taken === 0 ? this.#cost.share(usualNeed) : taken / shares.length;
  }

  /** Where the load is least of those with room. */
  #findThread(share: number): TranscoderThread | null {
    let found: TranscoderThread | null = null;
    for (const thread of this.#threads) {
      if (!thread.hasRoomFor(share, this.#options.loadMax)) continue;
      if (found === null || thread.load < found.load) found = thread;
    }
    return found;
  }

  #refusal(): ReservationRefusal {
    return this.#threads.some((thread) => thread.isOpen) ? 'load' : 'engine';
  }

  #look(): void {
    for (const thread of this.#threads) thread.look();
    const gone = this.#threads.filter((thread) => !thread.isOpen);
    if (gone.length === 0) return;
    this.#cancelLooks?.();
    this.#options.onWedged(
      `${gone.length} of ${this.#threads.length} transcoding threads hang or cannot be replaced`,
    );
  }
}
