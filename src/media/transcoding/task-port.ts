/**
 * Tasks for a transcoding thread and their answers, over a dedicated port: the pool starts and replaces the thread, but running a task
 * through the pool would add a tenth to the time of a small picture.
 */
import type { MessagePort, Transferable } from 'node:worker_threads';
import { assert } from '../../lib/assert.ts';
import type { FrameResult } from '../../model/media/picture.ts';
import { ownThreadId } from './thread-time.ts';
import type { TranscoderTasks } from './transcoder-task.ts';

type TaskName = keyof TranscoderTasks;
type TaskMessage = readonly [name: TaskName, task: unknown];
type AnswerMessage =
  | { readonly answer: unknown }
  | { readonly error: unknown }
  /** Sent when the thread has loaded its engine. */
  | { readonly readyThread: number | null };

interface Asked {
  readonly answered: (answer: unknown) => void;
  readonly failed: (error: unknown) => void;
}

/** The main thread's end. */
export class TaskPort {
  readonly #port: MessagePort;
  readonly #asked: Asked[] = [];
  /** Null: a thread is at the other end. */
  #fault: { readonly error: unknown } | null = null;
  #isReady = false;
  #threadId: number | null = null;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (message: AnswerMessage) => this.#received(message));
    port.unref();
  }

  /** Number of unanswered tasks. */
  get waiting(): number {
    return this.#asked.length;
  }

  /** The running task; null: none, or the engine is still loading. */
  get current(): object | null {
    return this.#isReady ? (this.#asked[0] ?? null) : null;
  }

  /** The kernel's id of the thread; null: unknown. */
  get threadId(): number | null {
    return this.#threadId;
  }

  /** `moved`: buffers to transfer. Rejects with the task's error, or with the reason that there is no thread. */
  ask(name: TaskName, task: unknown, moved: readonly Transferable[]): Promise<unknown> {
    if (this.#fault !== null) return Promise.reject(this.#fault.error);
    return new Promise((answered, failed) => {
      const message: TaskMessage = [name, task];
      this.#port.postMessage(message, moved);
      if (this.#asked.push({ answered, failed }) === 1) this.#port.ref();
    });
  }

  /** The thread has ended: all tasks, pending and future, fail. */
  fail(error: unknown): void {
    this.#fault ??= { error };
    this.#port.close();
    for (const { failed } of this.#asked.splice(0)) failed(error);
  }

  /** Fails all pending tasks, the running one with `currentError`. The thread still performs them. */
  giveUp(currentError: unknown, error: unknown): void {
    for (const [index, { failed }] of this.#asked.entries()) failed(index === 0 ? currentError : error);
  }

  #received(message: AnswerMessage): void {
    if ('readyThread' in message) {
      this.#isReady = true;
      this.#threadId = message.readyThread;
      return;
    }
    const asked = this.#asked.shift();
    // No task is pending: the process may exit.
    if (this.#asked.length === 0) this.#port.unref();
    if ('error' in message) asked?.failed(message.error);
    else asked?.answered(message.answer);
  }
}

/** The thread's end: performs the tasks from `port` one after another. */
export function serveTasks(tasks: TranscoderTasks, port: MessagePort): void {
  let turn = tasks.startEngine().then(() => {
    const ready: AnswerMessage = { readyThread: ownThreadId() };
    port.postMessage(ready);
  });
  port.on('message', (message: TaskMessage) => {
    turn = turn.then(() => perform(tasks, port, message));
  });
}

async function perform(tasks: TranscoderTasks, port: MessagePort, [name, task]: TaskMessage): Promise<void> {
  try {
    const answer = await tasks[name](task as never);
    const message: AnswerMessage = { answer };
    port.postMessage(message, name === 'transcodeFrame' ? picturesOf(answer as FrameResult) : []);
  } catch (error) {
    const message: AnswerMessage = { error };
    port.postMessage(message);
  }
}

/** Buffers are transferred as a whole, so a picture must not share one. */
function picturesOf({ pictures }: FrameResult): ArrayBuffer[] {
  return pictures.flatMap((picture) => {
    if (typeof picture === 'string') return [];
    const { byteLength, buffer } = picture.bytes;
    assert(byteLength === buffer.byteLength, 'a picture has its buffer for itself');
    return [buffer];
  });
}
