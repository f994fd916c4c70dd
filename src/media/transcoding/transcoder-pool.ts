/**
 * The threads that decode, scale and encode. A session stays on its thread, which has its native contexts. A new session is placed on
 * the thread with the least load, or refused if it fits on none. Source: calls-and-media.md, The media process.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { openEngine } from '../codec/engine.ts';
import type { TranscoderSettings } from '../codec/frame-transcoder.ts';
import type { NativeCensus } from '../codec/native-census.ts';
import { abandonedWorkersMax } from '../../model/media/decoding-limits.ts';
import { soundShareFirst } from '../../model/media/sound-limits.ts';
import type { ReservationRefusal } from '../../model/media/picture.ts';
import { soundEncodings, type SoundEncoding } from '../../model/media/sound.ts';
import type { WorkerLoad } from '../../model/media/media-capacity.ts';
import type { Log } from '../../lib/log.ts';
import { MainThreadSound } from './main-thread-sound.ts';
import { FrameCost, SessionLoad, type TranscodingNeed } from './transcoder-load.ts';
import type { EngineDescription } from './transcoder-task.ts';
import { FrameSession, SoundSession, type SoundTranscoder, type Transcoder } from './transcoder-session.ts';
import { threadTimeMs } from './thread-time.ts';
import { threadCheckMs, type ThreadTime } from './task-watch.ts';
import type { ThreadDeps, TranscoderThread } from './transcoder-thread.ts';
import { moduleBeside } from '../../lib/module-worker.ts';

export interface TranscoderPoolOptions extends TranscoderSettings {
  readonly threads: number;
  /** Share of each thread's time that sessions may take, up to 1. */
  readonly loadMax: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Called once, with a log line, if too many threads hang in native code or one cannot be replaced: only a new process helps. */
  readonly onWedged: (sentence: string) => void;
  /** Module of the worker; tests replace it. */
  readonly workerFile?: URL;
  /** For sound on the main thread; tests replace it. */
  readonly openEngine?: typeof openEngine;
  /** CPU time of a thread; tests script it. */
  readonly threadTime?: ThreadTime;
}

/** The call that free capacity is estimated for while none is carried: the larger of the two sizes requested from bridges. */
const usualNeed: TranscodingNeed = { request: { width: 640, height: 480 }, maxFps: 15 };

const workerFile = moduleBeside('transcoder-worker', import.meta.url);

export type Transcoders = Pick<
  TranscoderPool,
  'engine' | 'soundEncoders' | 'open' | 'openSound' | 'refusalOf' | 'workers' | 'close'
>;

/** Transcoders that refuse sessions until their start. */
export type NewTranscoders = Transcoders & Pick<TranscoderPool, 'start'>;

export class TranscoderPool {
  readonly #options: TranscoderPoolOptions;
  readonly #cost = new FrameCost();
  readonly #mainSound: MainThreadSound;
  readonly #threadDeps: ThreadDeps;
  #threads: readonly TranscoderThread[] = [];
  #cancelChecks: Cancel | null = null;
  #sessions = 0;
  /** Null: not available; undefined: not loaded yet. */
  #engine: EngineDescription | null | undefined;

  constructor(options: TranscoderPoolOptions) {
    this.#options = options;
    const { clock, log, quality, maxFps, sourceMax } = options;
    this.#mainSound = new MainThreadSound(options.openEngine ?? openEngine);
    this.#threadDeps = {
      clock,
      log,
      settings: { quality, maxFps, sourceMax },
      workerFile: options.workerFile ?? workerFile,
      threadTime: options.threadTime ?? threadTimeMs,
      mayAbandon: () => this.abandoned < abandonedWorkersMax,
    };
  }

  /**
   * Call once: until then the pool refuses sessions. Resolves when every thread has loaded its engine, or none has. Without an engine
   * the pool logs the reason and refuses sessions.
   */
  async start(): Promise<void> {
    const { log, clock, threads } = this.#options;
    // Lazy: a media process listens before it loads what runs its threads.
    const { TranscoderThread } = await import('./transcoder-thread.ts');
    this.#threads = Array.from({ length: threads }, () => new TranscoderThread(this.#threadDeps));
    const engines = await Promise.all(this.#threads.map((thread) => thread.start()));
    const failed = engines.find((engine) => !engine.ok);
    if (failed !== undefined && !failed.ok) {
      await this.close();
      this.#engine = null;
      log.warn({}, failed.error);
      return;
    }
    const [engine] = engines;
    if (engine?.ok === true) this.#engine = engine.value;
    this.#cancelChecks = clock.every(threadCheckMs, () => this.#checkThreads());
  }

  /** Version of FFmpeg; null: not available, or not loaded yet. */
  get engine(): string | null {
    return this.#engine?.version ?? null;
  }

  /** Sound formats that can be encoded here: until the engine is loaded, all are assumed. */
  get soundEncoders(): readonly SoundEncoding[] {
    return this.#engine === undefined ? soundEncodings : (this.#engine?.soundEncoders ?? []);
  }

  /** Decides by measured load. `engine`: this machine has no decoder. */
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

  /** Like `open`; one direction of sound costs little. */
  openSound(): Result<SoundTranscoder, ReservationRefusal> {
    const thread = this.#findThread(soundShareFirst);
    if (thread === null) return fail(this.#refusal());
    this.#sessions += 1;
    const load = new SessionLoad(this.#options.clock, soundShareFirst, 'sound');
    return succeed(new SoundSession(this.#sessions, thread, load, this.#mainSound));
  }

  /** The refusal that `open` would return, without a reservation; null: it would accept. */
  refusalOf(need: TranscodingNeed): ReservationRefusal | null {
    return this.#findThread(this.#cost.share(need)) === null ? this.#refusal() : null;
  }

  /** Until the engine is loaded, all are idle. */
  workers(): readonly WorkerLoad[] {
    const share = this.#usualShare();
    const { threads, loadMax } = this.#options;
    const idle = { busy: 0, taken: 0, room: Math.floor(loadMax / share) };
    if (this.#engine === undefined) return Array.from({ length: threads }, () => idle);
    return this.#threads.map((thread) => ({
      busy: thread.busyShare,
      taken: thread.load,
      room: thread.roomFor(share, loadMax),
    }));
  }

  /** Abandoned threads that still run. */
  get abandoned(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.abandoned, 0);
  }

  /** Live native objects of each thread, after its pending tasks; null: the thread has ended. */
  countNatives(): Promise<readonly (NativeCensus | null)[]> {
    return Promise.all(this.#threads.map((thread) => thread.countNatives()));
  }

  /** Stops the workers after their pending tasks. */
  async close(): Promise<void> {
    this.#cancelChecks?.();
    const threads = this.#threads;
    this.#threads = [];
    await Promise.all(threads.map((thread) => thread.close()));
  }

  /** Average share of the calls carried now; compared with their pictures, sound costs almost nothing. */
  #usualShare(): number {
    const shares = this.#threads.flatMap((thread) => thread.pictureShares);
    const taken = shares.reduce((sum, share) => sum + share, 0);
    return taken === 0 ? this.#cost.share(usualNeed) : taken / shares.length;
  }

  /** The thread with the least load among those with room. */
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

  #checkThreads(): void {
    for (const thread of this.#threads) thread.checkTask();
    const gone = this.#threads.filter((thread) => !thread.isOpen);
    if (gone.length === 0) return;
    this.#cancelChecks?.();
    this.#options.onWedged(
      `transcoder: ${gone.length} of ${this.#threads.length} threads hang or cannot be replaced; the media process ends`,
    );
  }
}
