/**
 * A piscina thread, and the port for its tasks. A thread that dies is replaced. One whose task takes too long is abandoned: it is never
 * stopped inside native code, which could crash the process, but only after its tasks are done.
 */
import { fileURLToPath } from 'node:url';
import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { transcoderHeapMebibytesMax } from '../../model/media/decoding-limits.ts';
import type { TranscoderSettings } from '../codec/frame-transcoder.ts';
import { TaskPort } from './task-port.ts';

export interface TaskThreadOptions {
  readonly settings: TranscoderSettings;
  readonly workerFile: URL;
  readonly onFault: (error: unknown) => void;
}

export class TaskThread {
  readonly #options: TaskThreadOptions;
  readonly #pool: Piscina;
  #port: TaskPort;
  /** `gone`: no thread can be started in its place. */
  #stage: 'open' | 'gone' | 'ending' = 'open';

  constructor(options: TaskThreadOptions) {
    this.#options = options;
    this.#pool = new Piscina({
      filename: fileURLToPath(options.workerFile),
      name: 'serve',
      workerData: options.settings,
      resourceLimits: { maxOldGenerationSizeMb: transcoderHeapMebibytesMax },
      minThreads: 1,
      maxThreads: 1,
      // A thread in Atomics.wait never returns to its event loop, where the memory of collected native objects is freed.
      atomics: 'disabled',
      recordTiming: false,
    });
    this.#pool.on('error', this.#onPoolError);
    this.#port = this.#connect();
  }

  /** Port of the current or starting thread. */
  get port(): TaskPort {
    return this.#port;
  }

  get isGone(): boolean {
    return this.#stage === 'gone';
  }

  /** Only between tasks. */
  async end(): Promise<void> {
    this.#stage = 'ending';
    await this.#pool.destroy();
  }

  /**
   * Fails the pending tasks, the running one with `currentError`. Resolves when the thread has performed them, freed its objects and
   * ended.
   */
  async abandon(currentError: unknown, error: unknown): Promise<void> {
    this.#stage = 'ending';
    this.#port.giveUp(currentError, error);
    try {
      await this.#port.ask('closeAll', undefined, []);
    } catch {
      // The thread died of its task.
    }
    await this.end();
  }

  #connect(): TaskPort {
    const { port1, port2 } = new MessageChannel();
    const port = new TaskPort(port1);
    this.#pool.run(port2, { transferList: [port2] }).catch((error: unknown) => port.fail(error));
    // After the pool's own handler, which has then started another thread, or cannot.
    this.#pool.threads[0]?.once('exit', (code) => {
      port.fail(new Error(`a transcoding thread ended with ${code}`));
      if (this.#stage === 'open') this.#port = this.#connect();
    });
    return port;
  }

  /** If no thread is left or starting, pending tasks would wait forever: `destroy` fails them. */
  readonly #onPoolError = (error: unknown): void => {
    this.#options.onFault(error);
    if (this.#pool.threads.length > 0) return;
    if (this.#stage === 'open') this.#stage = 'gone';
    void this.#pool.destroy();
  };
}
