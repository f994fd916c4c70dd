/** First in, first out, and out of the middle just as cheaply: those who wait carry their own links. */
import { assert } from '../../lib/assert.ts';

export interface Waiter<Self extends Waiter<Self>> {
  /** The line it stands in; null: none. It and the neighbours belong to the line. */
  line: WaitingLine<Self> | null;
  ahead: Self | null;
  behind: Self | null;
}

export class WaitingLine<Item extends Waiter<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: Item): void {
    assert(item.line === null, 'nobody waits in two lines');
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

  /** Does nothing to one who does not wait here. */
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
