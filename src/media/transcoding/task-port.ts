/**
 * Tasks on their way to a transcoding thread, and their answers back, over a port of their own: the pool starts and
 * replaces the thread, and its own way of running a task would cost a small picture a tenth of its time.
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
  /** The thread has its engine. */
  | { readonly readyThread: number | null };

interface Asked {
  readonly answered: (answer: unknown) => void;
  readonly failed: (error: unknown) => void;
}

/** The main loop's end. */
export class TaskPort {
  readonly #port: MessagePort;
  /** Tasks without answer, oldest first: they are answered in order. */
  readonly #asked: Asked[] = [];
  /** Null: there is a thread at the other end. */
  #fault: { readonly error: unknown } | null = null;
  #isReady = false;
  #threadId: number | null = null;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on('message', (message: AnswerMessage) => this.#received(message));
    port.unref();
  }

  /** Tasks without answer. */
  get waiting(): number {
    return this.#asked.length;
  }

  /** The task that the thread works on; null: it has none, or still loads its engine. */
  get current(): object | null {
    return this.#isReady ? (this.#asked[0] ?? null) : null;
  }

  /** The kernel's number of the thread; null: unknown. */
  get threadId(): number | null {
    return this.#threadId;
  }

  /** `moved`: buffers of the task's. Rejects with what the task threw, or why there is no thread. */
  ask(name: TaskName, task: unknown, moved: readonly Transferable[]): Promise<unknown> {
    if (this.#fault !== null) return Promise.reject(this.#fault.error);
    return new Promise((answered, failed) => {
      const message: TaskMessage = [name, task];
      this.#port.postMessage(message, moved);
      if (this.#asked.push({ answered, failed }) === 1) this.#port.ref();
    });
  }

  /** There is no thread at the other end any more: what was asked of it fails, and what will be. */
  fail(error: unknown): void {
    this.#fault ??= { error };
    this.#port.close();
    for (const { failed } of this.#asked.splice(0)) failed(error);
  }

  /** Fails what was asked, the task that the thread works on with an error of its own. The thread performs all of it. */
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
    // No task waits: the process may end.
    if (this.#asked.length === 0) this.#port.unref();
    if ('error' in message) asked?.failed(message.error);
    else asked?.answered(message.answer);
  }
}

/** The thread's end: performs the tasks that come by `port`, one after the other. */
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
    port.postMessage(message, name === 'takeFrame' ? picturesOf(answer as FrameResult) : []);
  } catch (error) {
    const message: AnswerMessage = { error };
    port.postMessage(message);
  }
}

/** Buffers are moved as wholes, so no picture may lie beside something else. */
function picturesOf({ pictures }: FrameResult): ArrayBuffer[] {
  return pictures.flatMap((picture) => {
    if (typeof picture === 'string') return [];
    const { byteLength, buffer } = picture.bytes;
    assert(byteLength === buffer.byteLength, 'a picture has its buffer for itself');
    return [buffer];
  });
}
