/** A queue of received items with promises for items not yet received. */

/** The connection closed before the awaited item arrived. */
export class ConnectionGone extends Error {}

interface Waiter<Item> {
  readonly isWanted: (item: Item) => boolean;
  readonly resolve: (item: Item) => void;
  readonly reject: (error: Error) => void;
}

export class AwaitedItems<Item> {
  readonly #heldMax: number;
  readonly #held: Item[] = [];
  readonly #waiters: Waiter<Item>[] = [];
  readonly #goneMessage: string;
  #hasEnded = false;

  /** Holds at most `heldMax` items; beyond it the newest are dropped. */
  constructor(heldMax: number, goneMessage: string) {
    this.#heldMax = heldMax;
    this.#goneMessage = goneMessage;
  }

  push(item: Item): void {
    const waiter = removeFirst(this.#waiters, ({ isWanted }) => isWanted(item));
    if (waiter !== undefined) waiter.resolve(item);
    else if (this.#held.length < this.#heldMax) this.#held.push(item);
  }

  /** Resolves with the first matching item. Rejects with ConnectionGone if the connection closes before. */
  until(isWanted: (item: Item) => boolean): Promise<Item> {
    const held = removeFirst(this.#held, isWanted);
    if (held !== undefined) return Promise.resolve(held);
    if (this.#hasEnded) return Promise.reject(new ConnectionGone(this.#goneMessage));
    return new Promise((resolve, reject) => this.#waiters.push({ isWanted, resolve, reject }));
  }

  /** Resolves with the next item. Rejects as `until` does. */
  next(): Promise<Item> {
    return this.until(() => true);
  }

  /** Rejects all waiters: the connection is closed. */
  end(): void {
    this.#hasEnded = true;
    for (const { reject } of this.#waiters.splice(0)) reject(new ConnectionGone(this.#goneMessage));
  }
}

function removeFirst<Item>(list: Item[], isWanted: (item: Item) => boolean): Item | undefined {
  const index = list.findIndex(isWanted);
  return index === -1 ? undefined : list.splice(index, 1)[0];
}
