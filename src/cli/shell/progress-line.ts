/**
 * How far a long command is: one line that is written over on a terminal, and now and then a plain line where
 * standard error goes to a file. Writes are synchronous, so that an import that holds the thread can tell, too.
 */
import type { Clock } from '../../lib/clock.ts';

export interface ProgressScreen {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

const terminalEveryMs = 100;
const plainEveryMs = 5000;
/** To the first column, and nothing left of the line. */
const clearLine = '\r\u001b[K';

export class ProgressLine {
  readonly #screen: ProgressScreen;
  readonly #clock: Clock;
  #shownMs = -Infinity;
  /** On a terminal, what stands in the line. */
  #line = '';

  constructor(screen: ProgressScreen, clock: Clock) {
    this.#screen = screen;
    this.#clock = clock;
    if (screen.isTTY !== true) this.#shownMs = clock.monotonicMs();
  }

  /** Shown unless a line was shown just before. */
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

  /** Takes the line away. */
  clear(): void {
    if (this.#line !== '') this.#screen.write(clearLine);
    this.#line = '';
  }
}
