/** Orders of all fronts at the core: the fronts take turns, an order each, and the loop's turn ends where it has done enough. */
import { TurnBudget } from '../../lib/token-bucket.ts';

export class FrontTurns {
  readonly #budget: TurnBudget;
  /** Each carries out one order; false: it was the last one of its front. */
  readonly #waiting: (() => boolean)[] = [];
  #isDue = false;

  /** `max`: orders within one turn of the loop. */
  constructor(max: number) {
    this.#budget = new TurnBudget(max);
  }

  /** `carryOutNext` of a front that has orders, and is not waiting. */
  join(carryOutNext: () => boolean): void {
    this.#waiting.push(carryOutNext);
    if (!this.#isDue) this.#run();
  }

  readonly #run = (): void => {
    this.#isDue = false;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#budget.spend()) return this.#runLater();
      this.#waiting.shift();
      if (next()) this.#waiting.push(next);
    }
  };

  #runLater(): void {
    this.#isDue = true;
    setImmediate(this.#run);
  }
}
