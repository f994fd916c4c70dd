/**
 * The demo as it unfolds: chapters, and in them who does what, and when. On a terminal it is shown at a pace that a person
 * can follow: a chapter begins when all before it has been shown; within a chapter the story itself runs unslowed.
 */
import { timeOfDay } from '../../cli/api/events-text.ts';
import { pauseUnless, type CommandContext } from '../../cli/shell/command-context.ts';

/** A person has seen enough. */
export class DemoInterrupted extends Error {}

type Who = 'demo' | 'server' | 'backend' | 'controller' | 'module' | 'device leg' | 'bridge' | 'event log';
const whoWidth = 10;

export class Timeline {
  readonly #context: CommandContext;
  readonly #stepMs: number;
  readonly #signal: AbortSignal;
  #chapters = 0;
  /** Resolves when all steps so far have been shown. */
  #shown: Promise<void> = Promise.resolve();

  /** `stepMs`: between two steps; 0: no pause. `signal` ends the pauses, and the story at its next chapter. */
  constructor(context: CommandContext, stepMs: number, signal: AbortSignal) {
    this.#context = context;
    this.#stepMs = stepMs;
    this.#signal = signal;
  }

  /** Resolves when it may begin. Rejects with DemoInterrupted. */
  async chapter(title: string): Promise<void> {
    this.#chapters += 1;
    this.#show({ chapter: title }, `\n${this.#chapters}. ${title}`);
    await this.#shown;
    if (this.#signal.aborted) throw new DemoInterrupted();
  }

  /** `json`: more for machines. `more`: lines below `text`, for people only. */
  step(who: Who, text: string, json: object = {}, more: readonly string[] = []): void {
    const wallMs = this.#context.clock.wallMs();
    const margin = `${timeOfDay(wallMs)}  ${who.padEnd(whoWidth)}  `;
    const lines = [margin + text, ...more.map((line) => ' '.repeat(margin.length) + line)];
    this.#show({ at: new Date(wallMs).toISOString(), who, what: text, ...json }, lines.join('\n'));
  }

  /** Resolves when everything is shown. */
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
