/** The demo as it unfolds: who, what, and the milliseconds since it began. */
import type { CommandContext } from '../../cli/shell/command-context.ts';

const whoWidth = 10;

export class Timeline {
  readonly #context: CommandContext;
  readonly #startedMs: number;

  constructor(context: CommandContext) {
    this.#context = context;
    this.#startedMs = context.clock.monotonicMs();
  }

  /** `json`: what a machine should know beside it. `more`: lines below `what`, for people only. */
  notify(who: string, what: string, json: object = {}, more: readonly string[] = []): void {
    const ms = this.#context.clock.monotonicMs() - this.#startedMs;
    const margin = `+${ms.toFixed(1).padStart(8)} ms  ${who.padEnd(whoWidth)}  `;
    const lines = [margin + what, ...more.map((line) => ' '.repeat(margin.length) + line)];
    this.#context.output.answer({ ms, who, what, ...json }, lines.join('\n'));
  }

  end(verdict: string): void {
    this.notify('demo', verdict);
  }
}
