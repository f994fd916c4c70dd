/** Watches how long a thread works on one task, by the thread's CPU time, or by elapsed time where that is unknown. */
import { elapsedPerTaskTime } from '../../model/media/decoding-limits.ts';
import { workerSilenceMsMax } from '../../model/limits.ts';
import type { TaskPort } from './task-port.ts';

/** Interval of `look`, which counts its calls: a pause of the whole process is no time of a task. */
export const threadLookMs = 50;

/** The CPU time of a thread, in ms, by the kernel's number; null: unknown. */
export type ThreadTime = (threadId: number) => number | null;

export class TaskWatch {
  readonly #msMax: number;
  readonly #threadTime: ThreadTime;
  #task: object | null = null;
  /** CPU time of the thread when a look first saw the task. */
  #startMs: number | null = null;
  #taskLooks = 0;
  #silentLooks = 0;

  /** `msMax`: CPU time of a task. */
  constructor(msMax: number, threadTime: ThreadTime) {
    this.#msMax = msMax;
    this.#threadTime = threadTime;
  }

  /** Another thread takes the place of the one that was watched. */
  restart(): void {
    this.#task = null;
    this.#silentLooks = 0;
  }

  /** The thread has answered. */
  answered(): void {
    this.#silentLooks = 0;
  }

  /** Every `threadLookMs`. True: its task takes longer than it may, or it answers nothing at all. */
  look(port: TaskPort): boolean {
    const { current, waiting } = port;
    this.#silentLooks = waiting === 0 ? 0 : this.#silentLooks + 1;
    if (current === null || current !== this.#task) {
      this.#task = current;
      this.#startMs = current === null ? null : this.#timeOf(port);
      this.#taskLooks = 0;
    } else this.#taskLooks += 1;
    return this.#silentLooks * threadLookMs > workerSilenceMsMax || this.#isOverdue(port);
  }

  #isOverdue(port: TaskPort): boolean {
    const elapsedMs = this.#taskLooks * threadLookMs;
    if (elapsedMs < this.#msMax) return false;
    const nowMs = this.#timeOf(port);
    if (this.#startMs === null || nowMs === null) return elapsedMs >= this.#msMax * elapsedPerTaskTime;
    return nowMs - this.#startMs >= this.#msMax;
  }

  #timeOf({ threadId }: TaskPort): number | null {
    return threadId === null ? null : this.#threadTime(threadId);
  }
}
