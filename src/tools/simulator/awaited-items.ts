/** Items of a connection, between those that come and those that somebody waits for. */

/** What was waited for does not come: the connection is gone. */
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

  /** Items are held until somebody asks for them; beyond `heldMax` the newest are let go. */
  constructor(heldMax: number, goneMessage: string) {
    this.#heldMax = heldMax;
    this.#goneMessage = goneMessage;
  }

  take(item: Item): void {
    const waiter = takeFirst(this.#waiters, ({ isWanted }) => isWanted(item));
    if (waiter !== undefined) waiter.resolve(item);
    else if (this.#held.length < this.#heldMax) this.#held.push(item);
  }

  /** The first that is wanted and that nobody has asked for yet. Rejects with ConnectionGone when none comes any more. */
  until(isWanted: (item: Item) => boolean): Promise<Item> {
    const held = takeFirst(this.#held, isWanted);
    if (held !== undefined) return Promise.resolve(held);
    if (this.#hasEnded) return Promise.reject(new ConnectionGone(this.#goneMessage));
    return new Promise((resolve, reject) => this.#waiters.push({ isWanted, resolve, reject }));
  }

  /** The next that comes. Rejects as `until` does. */
  next(): Promise<Item> {
    return this.until(() => true);
  }

  /** None comes any more. */
  end(): void {
    this.#hasEnded = true;
    for (const { reject } of this.#waiters.splice(0)) reject(new ConnectionGone(this.#goneMessage));
  }
}

/** Out of the list; undefined: there is none. */
function takeFirst<Item>(list: Item[], isWanted: (item: Item) => boolean): Item | undefined {
  const index = list.findIndex(isWanted);
  return index === -1 ? undefined : list.splice(index, 1)[0];
}
