/**
 * One transcoding worker, seen from the main thread, and the load of its sessions. Tasks are performed in order, and each answer is
 * delivered when it is ready. A thread that dies, or whose task exceeds its time, is replaced: its tasks are answered as lost, and the
 * next frame of each session registers it with the new thread.
 */
import type { Transferable } from 'node:worker_threads';
import { type Clock, completesWithin } from '../../lib/clock.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { TranscoderSettings } from '../codec/frame-transcoder.ts';
import type { NativeCensus } from '../codec/native-census.ts';
import { transcodersPerWorkerMax, workersStopMsMax } from '../../model/limits.ts';
import { taskTimeMsMax } from '../../model/media/decoding-limits.ts';
import type { FrameResult } from '../../model/media/picture.ts';
import type { SoundResult } from '../../model/media/sound.ts';
import type { Log } from '../../lib/log.ts';
import { BusyWindow, type SessionLoad } from './transcoder-load.ts';
import { TaskThread } from './task-thread.ts';
import { TaskWatch, type ThreadTime } from './task-watch.ts';
import {
  type EngineDescription,
  lostFrame,
  lostSound,
  overdueFrame,
  overdueSound,
  type FrameTask,
  type SoundTask,
  type TranscoderTasks,
} from './transcoder-task.ts';

export interface ThreadDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: TranscoderSettings;
  readonly workerFile: URL;
  readonly threadTime: ThreadTime;
  /** False: too many abandoned threads still run. */
  readonly mayAbandon: () => boolean;
}

/** A frame and the close of each session, and tasks for the whole worker. */
const tasksMax = transcodersPerWorkerMax * 2 + 8;
/** Minimum interval between log lines about lost frames. */
const faultLogMs = 1000;
const usualPixels = 1920 * 1080;

/** Errors of tasks of an abandoned thread: the one that exceeded its time, and those queued behind it. */
const overdue = new Error('a task of a transcoding thread exceeded its time limit');
const abandoned = new Error('a transcoding thread was abandoned');

export class TranscoderThread {
  readonly #deps: ThreadDeps;
  readonly #busy: BusyWindow;
  readonly #loads = new Set<SessionLoad>();
  #thread: TaskThread;
  #abandoned = 0;
  /** Includes closed sessions whose native objects are not freed yet. */
  #sessions = 0;
  #state: 'open' | 'gone' | 'closed' = 'open';
  readonly #watch: TaskWatch;
  #faultLoggedMs = -faultLogMs;

  constructor(deps: ThreadDeps) {
    this.#deps = deps;
    const { width, height } = deps.settings.sourceMax;
    this.#busy = new BusyWindow(deps.clock);
    this.#thread = this.#newThread();
    this.#watch = new TaskWatch(taskTimeMsMax * Math.max(1, (width * height) / usualPixels), deps.threadTime);
  }

  async start(): Promise<Result<EngineDescription, string>> {
    const notStarted = fail(`transcoder: a thread did not start from ${this.#deps.workerFile.href}`);
    return this.#run<Result<EngineDescription, string>>('startEngine', undefined, { lost: notStarted });
  }

  /** Never rejects. The payload's buffer is detached. */
  async transcodeFrame(task: FrameTask): Promise<FrameResult> {
    const moved = [task.frame.payload.buffer];
    const result = await this.#run('transcodeFrame', task, { lost: lostFrame, overdue: overdueFrame, moved });
    this.#busy.add(result.workMs);
    return result;
  }

  /** Never rejects. The payload is copied with its whole buffer. */
  async transcodeSound(task: SoundTask): Promise<SoundResult> {
    const result = await this.#run('transcodeSound', task, { lost: lostSound, overdue: overdueSound });
    this.#busy.add(result.workMs);
    return result;
  }

  /** Measured and reserved share of the thread's time. */
  get load(): number {
    let load = 0;
    for (const session of this.#loads) load += session.share;
    return load;
  }

  /** One session that fits on an idle thread is always accepted, whatever `loadMax` is. */
  hasRoomFor(share: number, loadMax: number): boolean {
    if (!this.isOpen || this.#sessions >= transcodersPerWorkerMax) return false;
    return this.load + share <= (this.#loads.size === 0 ? 1 : loadMax);
  }

  /** The number of additional calls of this share that it could accept. */
  roomFor(share: number, loadMax: number): number {
    if (!this.hasRoomFor(share, loadMax)) return 0;
    const byTime = Math.floor((loadMax - this.load) / share);
    return Math.max(1, Math.min(byTime, transcodersPerWorkerMax - this.#sessions));
  }

  /** Share of each session with pictures. */
  get pictureShares(): readonly number[] {
    return Array.from(this.#loads).flatMap(({ kind, share }) => (kind === 'pictures' ? [share] : []));
  }

  addSession(load: SessionLoad): void {
    this.#loads.add(load);
    this.#sessions += 1;
  }

  /** Resolves when all objects of the session are freed. */
  async closeSession(session: number, load: SessionLoad): Promise<void> {
    this.#loads.delete(load);
    await this.#run('closeSession', session, { lost: undefined });
    this.#sessions -= 1;
  }

  /** Native objects of its sessions; null: the thread has ended. */
  countNatives(): Promise<NativeCensus | null> {
    return this.#run<NativeCensus | null>('countNatives', undefined, { lost: null });
  }

  /** False: it was closed, or cannot be replaced. */
  get isOpen(): boolean {
    return this.#state === 'open' && !this.#thread.isGone;
  }

  get abandoned(): number {
    return this.#abandoned;
  }

  get busyShare(): number {
    return this.#busy.share();
  }

  /** Called every `threadCheckMs`: abandons a thread whose task exceeds its time, or that has stopped answering. */
  checkTask(): void {
    if (this.#watch.check(this.#thread.port)) this.#abandon();
  }

  /** Closes after the pending tasks. A thread that does not finish is left to the end of the process. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    const freed = this.#run('closeAll', undefined, { lost: undefined });
    const hangs = this.#state === 'gone' && this.#thread.port.waiting > 0;
    this.#state = 'closed';
    const isFree = !hangs && (await completesWithin(this.#deps.clock, workersStopMsMax, freed));
    if (isFree) await this.#thread.end();
    if (!isFree || this.#abandoned > 0)
      this.#deps.log.error({}, 'transcoder: a thread did not stop in time; it ends with its process');
  }

  #newThread(): TaskThread {
    const { settings, workerFile } = this.#deps;
    return new TaskThread({ settings, workerFile, onFault: (error) => this.#notifyFault(error) });
  }

  /** If too many abandoned threads run, only a new process helps. */
  #abandon(): void {
    if (!this.isOpen) return;
    if (!this.#deps.mayAbandon()) {
      this.#state = 'gone';
      return;
    }
    const thread = this.#thread;
    this.#thread = this.#newThread();
    this.#watch.restart();
    this.#abandoned += 1;
    this.#deps.log.warn(
      {},
      'transcoder: a task exceeded its time limit; its thread is replaced, and the other calls continue on the new one',
    );
    void thread.abandon(overdue, abandoned).then(() => (this.#abandoned -= 1));
  }

  async #run<Answer>(
    name: keyof TranscoderTasks,
    task: unknown,
    otherwise: Otherwise<Answer>,
  ): Promise<Answer> {
    const { port } = this.#thread;
    if (!this.isOpen || port.waiting >= tasksMax) return otherwise.lost;
    try {
      const answer = await port.ask(name, task, otherwise.moved ?? []);
      return answer as Answer;
    } catch (error) {
      if (error === overdue) return otherwise.overdue ?? otherwise.lost;
      if (error !== abandoned) this.#notifyFault(error);
      return otherwise.lost;
    } finally {
      this.#watch.answered();
    }
  }

  #notifyFault(error: unknown): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#faultLoggedMs < faultLogMs) return;
    this.#faultLoggedMs = nowMs;
    this.#deps.log.error(
      { err: error },
      'transcoder: a thread or its task failed; the frames of that thread are lost',
    );
  }
}

/** Fallback answers for a task that its thread does not answer, and the buffers transferred with it. */
interface Otherwise<Answer> {
  readonly lost: Answer;
  readonly overdue?: Answer;
  readonly moved?: readonly Transferable[];
}
