/** Tasks that must not overlap: each begins when the one before it has settled, however that ended. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as `task` does. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
