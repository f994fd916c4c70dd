/** Watches how long a thread works on one task, by the thread's CPU time, or by elapsed time where that is unknown. */
import { elapsedPerTaskTime } from '../../model/media/decoding-limits.ts';
import { workerSilenceMsMax } from '../../model/limits.ts';
import type { TaskPort } from './task-port.ts';

/** Interval of `check`. Elapsed time is the number of checks, so that a pause of the whole process does not count. */
export const threadCheckMs = 50;

/** CPU time of a thread in ms, by the kernel's id; null: unknown. */
export type ThreadTime = (threadId: number) => number | null;

export class TaskWatch {
  readonly #msMax: number;
  readonly #threadTime: ThreadTime;
  #task: object | null = null;
  /**
   * CPU time of the thread when a check first saw the task, or less: it is read by the next check, which most tasks do not live to see,
   * because a reading costs as much as a tenth of a picture.
   */
  #startMs: number | null = null;
  #taskChecks = 0;
  #silentChecks = 0;

  /** `msMax`: CPU time that a task may take. */
  constructor(msMax: number, threadTime: ThreadTime) {
    this.#msMax = msMax;
    this.#threadTime = threadTime;
  }

  /** The watched thread was replaced. */
  restart(): void {
    this.#task = null;
    this.#silentChecks = 0;
  }

  answered(): void {
    this.#silentChecks = 0;
  }

  /** Called every `threadCheckMs`. True: the task exceeds its time, or the thread has stopped answering. */
  check(port: TaskPort): boolean {
    const { current, waiting } = port;
    this.#silentChecks = waiting === 0 ? 0 : this.#silentChecks + 1;
    if (current === null || current !== this.#task) {
      this.#task = current;
      this.#taskChecks = 0;
    } else {
      this.#taskChecks += 1;
      if (this.#taskChecks === 1) this.#startMs = this.#startOf(port);
    }
    return this.#silentChecks * threadCheckMs > workerSilenceMsMax || this.#isOverdue(port);
  }

  #isOverdue(port: TaskPort): boolean {
    const elapsedMs = this.#taskChecks * threadCheckMs;
    if (elapsedMs < this.#msMax) return false;
    const nowMs = this.#timeOf(port);
    if (this.#startMs === null || nowMs === null) return elapsedMs >= this.#msMax * elapsedPerTaskTime;
    return nowMs - this.#startMs >= this.#msMax;
  }

  #startOf(port: TaskPort): number | null {
    const nowMs = this.#timeOf(port);
    return nowMs === null ? null : nowMs - threadCheckMs;
  }

  #timeOf({ threadId }: TaskPort): number | null {
    return threadId === null ? null : this.#threadTime(threadId);
  }
}
