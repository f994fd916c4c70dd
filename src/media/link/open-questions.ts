/** Questions to the other end that are not answered yet: so many at most, and each for so long at most. */
import type { Cancel, Clock } from '../../lib/clock.ts';

export interface OpenQuestionsBounds {
  readonly max: number;
  readonly waitMs: number;
}

interface OpenQuestion<Answer> {
  readonly resolve: (answer: Answer | null) => void;
  readonly giveUp: Cancel;
}

export class OpenQuestions<Answer> {
  readonly #clock: Clock;
  readonly #bounds: OpenQuestionsBounds;
  readonly #open = new Map<number, OpenQuestion<Answer>>();
  #asked = 0;

  constructor(clock: Clock, bounds: OpenQuestionsBounds) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  get isFull(): boolean {
    return this.#open.size >= this.#bounds.max;
  }

  /** `ask` says it, by its number. Null: no answer came in time, or as many as may are open. Never rejects. */
  ask(ask: (question: number) => void): Promise<Answer | null> {
    if (this.isFull) return Promise.resolve(null);
    this.#asked += 1;
    const question = this.#asked;
    return new Promise((resolve) => {
      const giveUp = this.#clock.after(this.#bounds.waitMs, () => this.#settle(question, null));
      this.#open.set(question, { resolve, giveUp });
      ask(question);
    });
  }

  /** Too late, it is nobody's. */
  answer(question: number, answer: Answer): void {
    this.#settle(question, answer);
  }

  /** Nobody answers any more. */
  giveUp(): void {
    for (const question of this.#open.keys()) this.#settle(question, null);
  }

  #settle(question: number, answer: Answer | null): void {
    const open = this.#open.get(question);
    if (open === undefined) return;
    this.#open.delete(question);
    open.giveUp();
    open.resolve(answer);
  }
}
