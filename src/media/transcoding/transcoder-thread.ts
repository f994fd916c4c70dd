/**
 * One transcoding thread, seen from the main loop, and the load of the sessions on it: it does its tasks in order, and
 * each answer comes as it is ready. A thread that dies is replaced; its tasks are answered as lost, and the next frame of
 * each session makes it known to the new one.
 */
import { fileURLToPath } from 'node:url';
import { MessageChannel, type Transferable } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { type Clock, settlesWithin } from '../../lib/clock.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { TranscoderSettings } from '../codec/frame-transcoder.ts';
import type { NativeCensus } from '../codec/native-census.ts';
import { transcodersPerWorkerMax, workersStopMsMax, workerSilenceMsMax } from '../../model/limits.ts';
import type { FrameResult } from '../../model/media/picture.ts';
import type { SoundResult } from '../../model/media/sound.ts';
import type { Log } from '../../core/ports/log.ts';
import { BusyWindow, type SessionLoad } from './transcoder-load.ts';
import { TaskPort } from './task-port.ts';
import {
  type EngineDescription,
  lostFrame,
  lostSound,
  type FrameTask,
  type SoundTask,
  type TranscoderTasks,
} from './transcoder-task.ts';

export interface ThreadDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: TranscoderSettings;
  readonly workerFile: URL;
}

/** How often `look` is to be called: it counts its calls, so that a pause of the whole process is no silence. */
export const threadLookMs = 1000;
/** A frame and the end of each session, then what concerns all of them. */
const tasksMax = transcodersPerWorkerMax * 2 + 8;
/** One line in so long says that frames are lost, however many are. */
const faultLogMs = 1000;

export class TranscoderThread {
  readonly #deps: ThreadDeps;
  readonly #pool: Piscina;
  readonly #busy: BusyWindow;
  readonly #loads = new Set<SessionLoad>();
  #tasks: TaskPort;
  /** Closed ones whose natives are not freed yet included. */
  #sessions = 0;
  #state: 'open' | 'gone' | 'closed' = 'open';
  #silentLooks = 0;
  #faultLoggedMs = -faultLogMs;

  constructor(deps: ThreadDeps) {
    this.#deps = deps;
    this.#busy = new BusyWindow(deps.clock);
    this.#pool = new Piscina({
      filename: fileURLToPath(deps.workerFile),
      name: 'serve',
      workerData: deps.settings,
      minThreads: 1,
      maxThreads: 1,
      // A thread that waits by Atomics.wait never returns to its event loop, and there the memory of collected native objects
      // is freed.
      atomics: 'disabled',
      recordTiming: false,
    });
    this.#pool.on('error', this.#onPoolError);
    this.#tasks = this.#connect();
  }

  /** The engine, or why there is none. */
  async start(): Promise<Result<EngineDescription, string>> {
    const notStarted = fail(`a transcoding thread did not start from ${this.#deps.workerFile.href}`);
    return this.#run<Result<EngineDescription, string>>('startEngine', undefined, notStarted);
  }

  /** Never rejects; the payload's buffer is detached. */
  async take(task: FrameTask): Promise<FrameResult> {
    const result = await this.#run('takeFrame', task, lostFrame, [task.frame.payload.buffer]);
    this.#busy.add(result.workMs);
    return result;
  }

  /** Never rejects. The payload is copied with all of its buffer. */
  async takeSound(task: SoundTask): Promise<SoundResult> {
    const result = await this.#run('takeSound', task, lostSound);
    this.#busy.add(result.workMs);
    return result;
  }

  /** Measured and reserved share of the thread's time. */
  get load(): number {
    let load = 0;
    for (const session of this.#loads) load += session.share;
    return load;
  }

  /** One session that a thread alone can do is always taken, whatever `loadMax` is. */
  hasRoomFor(share: number, loadMax: number): boolean {
    if (this.#state !== 'open' || this.#sessions >= transcodersPerWorkerMax) return false;
    return this.load + share <= (this.#loads.size === 0 ? 1 : loadMax);
  }

  /** How many calls of this share it would take beside those that it has. */
  roomFor(share: number, loadMax: number): number {
    if (!this.hasRoomFor(share, loadMax)) return 0;
    const byTime = Math.floor((loadMax - this.load) / share);
    return Math.max(1, Math.min(byTime, transcodersPerWorkerMax - this.#sessions));
  }

  /** Of each session with pictures that is carried. */
  get pictureShares(): readonly number[] {
    return Array.from(this.#loads).flatMap(({ kind, share }) => (kind === 'pictures' ? [share] : []));
  }

  addSession(load: SessionLoad): void {
    this.#loads.add(load);
    this.#sessions += 1;
  }

  /** Resolves when nothing of the session is left. */
  async closeSession(session: number, load: SessionLoad): Promise<void> {
    this.#loads.delete(load);
    await this.#run('closeSession', session, undefined);
    this.#sessions -= 1;
  }

  /** Native objects of its sessions; null: it is gone. */
  countNatives(): Promise<NativeCensus | null> {
    return this.#run<NativeCensus | null>('countNatives', undefined, null);
  }

  /** False: it hangs in native code or cannot be replaced, or was closed. */
  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get busyShare(): number {
    return this.#busy.share();
  }

  /** Every `threadLookMs`: one that has tasks and answers none for `workerSilenceMsMax` is gone. */
  look(): void {
    this.#silentLooks = this.#tasks.waiting === 0 ? 0 : this.#silentLooks + 1;
    if (this.#state === 'open' && this.#silentLooks * threadLookMs > workerSilenceMsMax) this.#state = 'gone';
  }

  /** Behind what it still does. A thread that does not come to its end is left to that of the process. */
  async close(): Promise<void> {
    if (this.#state === 'closed') return;
    const freed = this.#run('closeAll', undefined, undefined);
    const hangs = this.#state === 'gone' && this.#tasks.waiting > 0;
    this.#state = 'closed';
    if (!hangs && (await settlesWithin(this.#deps.clock, workersStopMsMax, freed)))
      await this.#pool.destroy();
    else this.#deps.log.error({}, 'a transcoding thread does not end; it goes with its process');
  }

  /** The way to the thread that there is, or that starts; when it ends, to the one in its place. */
  #connect(): TaskPort {
    const { port1, port2 } = new MessageChannel();
    const tasks = new TaskPort(port1);
    this.#pool.run(port2, { transferList: [port2] }).catch((error: unknown) => tasks.fail(error));
    // Behind the pool, which has started another one by then, or cannot.
    this.#pool.threads[0]?.once('exit', (code) => {
      tasks.fail(new Error(`a transcoding thread ended with ${code}`));
      if (this.#state === 'open') this.#tasks = this.#connect();
    });
    return tasks;
  }

  async #run<Answer>(
    name: keyof TranscoderTasks,
    task: unknown,
    otherwise: Answer,
    moved: readonly Transferable[] = [],
  ): Promise<Answer> {
    if (this.#state !== 'open' || this.#tasks.waiting >= tasksMax) return otherwise;
    try {
      const answer = await this.#tasks.ask(name, task, moved);
      return answer as Answer;
    } catch (error) {
      this.#notifyFault(error);
      return otherwise;
    } finally {
      this.#silentLooks = 0;
    }
  }

  /** Without a thread, and with none that starts, what waits for one would wait forever: `destroy` answers it. */
  readonly #onPoolError = (error: unknown): void => {
    this.#notifyFault(error);
    if (this.#pool.threads.length > 0) return;
    if (this.#state === 'open') this.#state = 'gone';
    void this.#pool.destroy();
  };

  #notifyFault(error: unknown): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#faultLoggedMs < faultLogMs) return;
    this.#faultLoggedMs = nowMs;
    this.#deps.log.error({ err: error }, 'a transcoding thread failed; what it had is lost');
  }
}
