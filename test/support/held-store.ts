/** Takes the write lock of a running server's store file: nothing is committed until the lock is released. */
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { startModuleWorker } from '../../src/lib/module-worker.ts';
import type { HoldTask } from './store-holder.ts';

export class HeldStore {
  readonly #worker: Worker;
  readonly #released: Int32Array;

  private constructor(worker: Worker, released: Int32Array) {
    this.#worker = worker;
    this.#released = released;
  }

  /** Resolves when writes are blocked. Reads continue. */
  static async block(directory: string, file: HoldTask['file'] = 'state'): Promise<HeldStore> {
    const released = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const task: HoldTask = { directory, file, released };
    const worker = startModuleWorker('store-holder', import.meta.url, task);
    await once(worker, 'message');
    return new HeldStore(worker, released);
  }

  async release(): Promise<void> {
    const ended = once(this.#worker, 'exit');
    Atomics.store(this.#released, 0, 1);
    Atomics.notify(this.#released, 0);
    await ended;
  }
}
