/**
 * What is told of calls, to legs and to the house, comes after the changes and in their order. Who is told may change
 * something in turn, or say that a leg is gone: that is done at once, and told when all before it has been. So a
 * change is whole before anybody hears of it, and nobody hears of two in the wrong order.
 *
 * Nothing waits here from one turn to the next. What waits within one is bounded by those who are told: calls only
 * go forwards.
 */
export class CallNews {
  #waiting: (() => void)[] = [];
  #isTelling = false;

  /** Makes a change, then tells what `add` was given meanwhile. */
  after<Result>(change: () => Result): Result {
    const result = change();
    if (!this.#isTelling) this.#notifyAll();
    return result;
  }

  add(notify: () => void): void {
    this.#waiting.push(notify);
  }

  #notifyAll(): void {
    this.#isTelling = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) next();
    } finally {
      this.#isTelling = false;
    }
  }
}
