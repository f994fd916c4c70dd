/** A store that commits when the test says so, or refuses as often as it is told to. */
import { setImmediate } from 'node:timers/promises';

interface Commit {
  readonly write: () => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class ScriptedCommits {
  #waiting: Commit[] = [];
  readonly #commit: (write: () => void) => Promise<void>;

  /** `commit`: what a commit that is let through does; by default it only runs what would have been written. */
  constructor(commit = (write: () => void): Promise<void> => Promise.resolve(write())) {
    this.#commit = commit;
  }

  /** To be given as the `batch` of a store. */
  readonly batch = (write: () => void): Promise<void> =>
    new Promise((resolve, reject) => this.#waiting.push({ write, resolve, reject }));

  /** Waits until a commit is asked for. */
  async asked(): Promise<void> {
    while (this.#waiting.length === 0) await setImmediate();
  }

  /** Lets the next commit through. */
  async succeed(): Promise<void> {
    await this.asked();
    const commit = this.#waiting.shift();
    if (commit !== undefined) await this.#commit(commit.write);
    commit?.resolve();
    await setImmediate();
  }

  /** Refuses the next commit; nothing of it was written. */
  async fail(fault = new Error('the disk is full')): Promise<void> {
    await this.asked();
    this.#waiting.shift()?.reject(fault);
    await setImmediate();
  }

  get waiting(): number {
    return this.#waiting.length;
  }
}
