/** Schedules the orders of all fronts at the core: round robin, one order each, within a budget per turn of the event loop. */
import { TurnBudget } from '../../lib/token-bucket.ts';

export class FrontTurns {
  readonly #budget: TurnBudget;
  /** Each carries out one order; false: its front has no more. */
  readonly #waiting: (() => boolean)[] = [];
  #isDue = false;

  /** `max`: orders per turn of the event loop. */
  constructor(max: number) {
    this.#budget = new TurnBudget(max);
  }

  /** Adds the `carryOutNext` of a front that has orders and is not queued yet. */
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
