/** Two queues: a bounded ring of items, and tasks that run one at a time. */

export class BoundedQueue<Item> {
  readonly #max: number;
  #items: (Item | undefined)[] = [];
  #head = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** False: the queue is full, and the item was not added. */
  push(item: Item): boolean {
    if (this.length >= this.#max) return false;
    this.#items.push(item);
    return true;
  }

  shift(): Item | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) this.clear();
    else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** The items in order; they stay in the queue. */
  items(): readonly Item[] {
    return this.#items.slice(this.#head) as Item[];
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}

export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles as `task` does. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
