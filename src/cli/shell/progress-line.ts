/**
 * The progress of a long command: one line that is overwritten on a terminal, or a plain line now and then where
 * standard error goes to a file. Writes are synchronous, so that an import that blocks the thread can report, too.
 */
import type { Clock } from '../../lib/clock.ts';

export interface ProgressScreen {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

const terminalEveryMs = 100;
const plainEveryMs = 5000;
/** Moves to the first column and clears the line. */
const clearLine = '\r\u001b[K';

export class ProgressLine {
  readonly #screen: ProgressScreen;
  readonly #clock: Clock;
  #shownMs = -Infinity;
  /** The text of the line; empty where there is no terminal. */
  #line = '';

  constructor(screen: ProgressScreen, clock: Clock) {
    this.#screen = screen;
    this.#clock = clock;
    if (screen.isTTY !== true) this.#shownMs = clock.monotonicMs();
  }

  /** Shows the text unless a line was shown just before. */
  show(text: string): void {
    const nowMs = this.#clock.monotonicMs();
    const isTerminal = this.#screen.isTTY === true;
    if (nowMs - this.#shownMs < (isTerminal ? terminalEveryMs : plainEveryMs)) return;
    this.#shownMs = nowMs;
    if (!isTerminal) return void this.#screen.write(`${text}\n`);
    this.#line = text;
    this.#screen.write(clearLine + text);
  }

  /** Lets `print` write whole lines above the line. */
  above(print: () => void): void {
    if (this.#line !== '') this.#screen.write(clearLine);
    print();
    if (this.#line !== '') this.#screen.write(this.#line);
  }

  /** Removes the line. */
  clear(): void {
    if (this.#line !== '') this.#screen.write(clearLine);
    this.#line = '';
  }
}
