/** A store whose commits a test completes or rejects. */
import { setImmediate } from 'node:timers/promises';

interface Commit {
  readonly write: () => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class ScriptedCommits {
  #waiting: Commit[] = [];
  readonly #commit: (write: () => void) => Promise<void>;

  /** `commit`: runs for each completed commit. Default: only runs the writes. */
  constructor(commit = (write: () => void): Promise<void> => Promise.resolve(write())) {
    this.#commit = commit;
  }

  /** Pass it as the `batch` of a store. */
  readonly batch = (write: () => void): Promise<void> =>
    new Promise((resolve, reject) => this.#waiting.push({ write, resolve, reject }));

  async asked(): Promise<void> {
    while (this.#waiting.length === 0) await setImmediate();
  }

  async succeed(): Promise<void> {
    await this.asked();
    const commit = this.#waiting.shift();
    if (commit !== undefined) await this.#commit(commit.write);
    commit?.resolve();
    await setImmediate();
  }

  /** Rejects the next commit; nothing of it was written. */
  async fail(fault = new Error('the disk is full')): Promise<void> {
    await this.asked();
    this.#waiting.shift()?.reject(fault);
    await setImmediate();
  }

  get waiting(): number {
    return this.#waiting.length;
  }
}
