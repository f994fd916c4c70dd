/**
 * How much may be done at once, within one turn of the event loop, before timers and other sockets have theirs. The front
 * end's library hands over what one socket has sent without returning to the loop, as long as more of it comes: what is
 * beyond the budget is put off to the next turn.
 */
export class TurnBudget {
  readonly #max: number;
  #spent = 0;
  readonly #renew = (): void => {
    this.#spent = 0;
  };

  constructor(max: number) {
    this.#max = max;
  }

  /** False: this turn has done enough. */
  take(): boolean {
    if (this.#spent === 0) setImmediate(this.#renew);
    this.#spent += 1;
    return this.#spent <= this.#max;
  }
}
