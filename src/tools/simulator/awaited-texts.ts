/** Text messages of a leg, between those that come and those that somebody waits for. */

/** A text message of the listener; what else is in it depends on its type. */
export interface LegText {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What was waited for does not come: the leg is closed. */
export class LegGone extends Error {
  constructor() {
    super('the media leg is closed');
  }
}

interface Waiter {
  readonly isWanted: (text: LegText) => boolean;
  readonly resolve: (text: LegText) => void;
  readonly reject: (error: Error) => void;
}

/** Texts held until somebody asks for them; beyond it the newest are let go. */
const textsHeldMax = 256;

export class AwaitedTexts {
  readonly #held: LegText[] = [];
  readonly #waiters: Waiter[] = [];
  #hasEnded = false;

  take(text: LegText): void {
    const waiter = takeFirst(this.#waiters, ({ isWanted }) => isWanted(text));
    if (waiter !== undefined) waiter.resolve(text);
    else if (this.#held.length < textsHeldMax) this.#held.push(text);
  }

  /** The first that is wanted and that nobody has asked for yet. Rejects with LegGone when none comes any more. */
  until(isWanted: (text: LegText) => boolean): Promise<LegText> {
    const held = takeFirst(this.#held, isWanted);
    if (held !== undefined) return Promise.resolve(held);
    if (this.#hasEnded) return Promise.reject(new LegGone());
    return new Promise((resolve, reject) => this.#waiters.push({ isWanted, resolve, reject }));
  }

  /** None comes any more. */
  end(): void {
    this.#hasEnded = true;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new LegGone());
  }
}

/** Out of the list; undefined: there is none. */
function takeFirst<Item>(list: Item[], isWanted: (item: Item) => boolean): Item | undefined {
  const index = list.findIndex(isWanted);
  return index === -1 ? undefined : list.splice(index, 1)[0];
}
