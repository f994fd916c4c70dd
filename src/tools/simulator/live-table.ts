/**
 * Some lines that are drawn in place on a terminal, over those that stood there before. Where standard error goes to
 * a file, one plain line now and then stands for them.
 */
import type { Clock } from '../../lib/clock.ts';

export interface TableScreen {
  readonly isTTY?: boolean | undefined;
  /** Characters in a line; unknown, or 0: as many as one likes. */
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const plainEveryMs = 5000;
/** To the first column, and everything from there gone. */
const clearBelow = '\r\u001b[J';

export class LiveTable {
  readonly #screen: TableScreen;
  readonly #clock: Clock;
  #plainMs: number;
  #linesDrawn = 0;

  constructor(screen: TableScreen, clock: Clock) {
    this.#screen = screen;
    this.#clock = clock;
    this.#plainMs = clock.monotonicMs();
  }

  get isDrawn(): boolean {
    return this.#screen.isTTY === true;
  }

  /** Draws `lines`; elsewhere than on a terminal writes `plain`, unless it did lately. */
  show(lines: readonly string[], plain: string): void {
    if (this.isDrawn) return this.#draw(lines);
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#plainMs < plainEveryMs) return;
    this.#plainMs = nowMs;
    this.#screen.write(`${plain}\n`);
  }

  /** A line that a terminal would break would move all that stand below it. */
  #draw(lines: readonly string[]): void {
    const { columns = 0 } = this.#screen;
    const width = columns > 0 ? columns - 1 : Infinity;
    const up = this.#linesDrawn === 0 ? '' : `\u001b[${this.#linesDrawn}A`;
    this.#screen.write(`${up}${clearBelow}${lines.map((line) => `${line.slice(0, width)}\n`).join('')}`);
    this.#linesDrawn = lines.length;
  }
}
