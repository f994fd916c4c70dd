/** A queue whose items carry their own links, so that each operation takes constant time. */
import { assert } from '../assert.ts';

export interface Waiter<Self extends Waiter<Self>> {
  /** The line that contains the item; null: none. The line owns this field and the neighbours. */
  line: WaitingLine<Self> | null;
  ahead: Self | null;
  behind: Self | null;
}

/** First in, first out; removal from the middle costs the same. */
export class WaitingLine<Item extends Waiter<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;
  #length = 0;

  get first(): Item | null {
    return this.#first;
  }

  get length(): number {
    return this.#length;
  }

  push(item: Item): void {
    assert(item.line === null, 'an item waits in one line');
    item.line = this;
    item.ahead = this.#last;
    if (this.#last === null) this.#first = item;
    else this.#last.behind = item;
    this.#last = item;
    this.#length += 1;
  }

  shift(): Item | null {
    const first = this.#first;
    if (first !== null) this.remove(first);
    return first;
  }

  /** Does nothing to an item of another line. */
  remove(item: Item): void {
    if (item.line !== this) return;
    if (item.ahead === null) this.#first = item.behind;
    else item.ahead.behind = item.behind;
    if (item.behind === null) this.#last = item.ahead;
    else item.behind.ahead = item.ahead;
    item.line = null;
    item.ahead = null;
    item.behind = null;
    this.#length -= 1;
  }
}
