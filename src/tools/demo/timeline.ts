/**
 * Output of the demo: chapters with steps, each with its time and party. On a terminal the steps appear at a readable pace: a
 * chapter starts when all earlier steps have been shown; within a chapter the demo itself runs at full speed.
 */
import { timeOfDay } from '../../server/bootstrap/log-text.ts';
import { pauseUnless, type CommandContext } from '../../cli/shell/command-context.ts';

export class DemoInterrupted extends Error {}

type Who = 'demo' | 'server' | 'backend' | 'controller' | 'module' | 'device leg' | 'bridge' | 'event log';
const whoWidth = 10;

export class Timeline {
  readonly #context: CommandContext;
  readonly #stepMs: number;
  readonly #signal: AbortSignal;
  #chapters = 0;
  /** Resolves when all steps so far are shown. */
  #shown: Promise<void> = Promise.resolve();

  /** `stepMs`: pause between steps; 0: none. `signal` ends the pauses, and the demo at its next chapter. */
  constructor(context: CommandContext, stepMs: number, signal: AbortSignal) {
    this.#context = context;
    this.#stepMs = stepMs;
    this.#signal = signal;
  }

  /** Resolves when the chapter may start. Rejects with DemoInterrupted. */
  async chapter(title: string): Promise<void> {
    this.#chapters += 1;
    this.#show({ chapter: title }, `\n${this.#chapters}. ${title}`);
    await this.#shown;
    if (this.#signal.aborted) throw new DemoInterrupted();
  }

  /** `json`: further fields of the JSON output. `more`: lines below `text`, not in the JSON output. */
  step(who: Who, text: string, json: object = {}, more: readonly string[] = []): void {
    const wallMs = this.#context.clock.wallMs();
    const margin = `${timeOfDay(wallMs)}  ${who.padEnd(whoWidth)}  `;
    const lines = [margin + text, ...more.map((line) => ' '.repeat(margin.length) + line)];
    this.#show({ at: new Date(wallMs).toISOString(), who, what: text, ...json }, lines.join('\n'));
  }

  /** Resolves when all steps are shown. */
  async end(verdict: string): Promise<void> {
    this.step('demo', verdict);
    await this.#shown;
  }

  #show(json: object, text: string): void {
    const { clock, output } = this.#context;
    if (this.#stepMs === 0) return output.answer(json, text);
    this.#shown = this.#shown.then(() => {
      output.answer(json, text);
      return pauseUnless(clock, this.#stepMs, this.#signal);
    });
  }
}
