/** The story as it unfolds: who, what, and the milliseconds since it began. */
import type { CommandContext } from './command-context.ts';

const whoWidth = 8;

export class Timeline {
  readonly #context: CommandContext;
  readonly #startedMs: number;

  constructor(context: CommandContext) {
    this.#context = context;
    this.#startedMs = context.clock.monotonicMs();
  }

  /** `json`: what a machine should know beside it. */
  tell(who: string, what: string, json: object = {}): void {
    const ms = this.#context.clock.monotonicMs() - this.#startedMs;
    const stamp = `+${ms.toFixed(1).padStart(8)} ms`;
    this.#context.output.answer({ ms, who, what, ...json }, `${stamp}  ${who.padEnd(whoWidth)}  ${what}`);
  }

  end(verdict: string): void {
    this.tell('demo', verdict);
  }
}
