/**
 * The output of a command. The answer goes to standard output, as text or, with `--json`, as one JSON value per line; refusals,
 * remarks and progress go to standard error, to keep pipes clean. Untrusted text is escaped.
 */
import type { Clock } from '../../lib/clock.ts';
import { showable, showableLines } from '../../lib/showable-text.ts';
import { colourStates } from './state-colours.ts';

export interface Output {
  readonly wantsJson: boolean;
  answer(json: unknown, text: string): void;
  /** Prints a refusal, for people on standard error. The command exits 1. */
  refusal(json: unknown, text: string): void;
  remark(text: string): void;
  /** Prints an important warning on standard error, as an object with `--json`. */
  warning(text: string): void;
}

/** Recognises `--json` in the arguments even if they are otherwise invalid. */
export function asksForJson(args: readonly string[]): boolean {
  return args.includes('--json');
}

export class ProcessOutput implements Output {
  readonly wantsJson: boolean;

  constructor(wantsJson: boolean) {
    this.wantsJson = wantsJson;
  }

  answer(json: unknown, text: string): void {
    process.stdout.write(`${this.wantsJson ? JSON.stringify(json) : shown(text)}\n`);
  }

  refusal(json: unknown, text: string): void {
    process.exitCode = 1;
    if (this.wantsJson) this.answer(json, text);
    else this.remark(text);
  }

  remark(text: string): void {
    if (!this.wantsJson) process.stderr.write(`${showableLines(text)}\n`);
  }

  warning(text: string): void {
    if (this.wantsJson) process.stderr.write(`${JSON.stringify({ warning: text })}\n`);
    else this.remark(`warning: ${text}`);
  }
}

/** Node honours `NO_COLOR` and dumb terminals. */
function shown(text: string): string {
  const lines = showableLines(text);
  return process.stdout.isTTY && process.stdout.hasColors() ? colourStates(lines) : lines;
}

/** An absent value is printed as a dash. */
export type Cell = string | number | null | undefined;

/** Aligns rows of equal length in columns two spaces apart; each cell stays on one line. */
export function alignColumns(cells: readonly (readonly Cell[])[]): string {
  const rows = cells.map((row) => row.map((cell) => showable(String(cell ?? '-'))));
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}

export function tableOf<Item>(
  items: readonly Item[],
  columns: Readonly<Record<string, (item: Item, index: number) => Cell>>,
): string {
  const cells = Object.values(columns);
  const rows = items.map((item, index) => cells.map((cellOf) => cellOf(item, index)));
  return alignColumns([Object.keys(columns), ...rows]);
}

export interface ProgressScreen {
  readonly isTTY?: boolean | undefined;
  /** Characters per line; 0 or absent: unlimited. */
  readonly columns?: number | undefined;
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
  #line = '';

  constructor(screen: ProgressScreen, clock: Clock) {
    this.#screen = screen;
    this.#clock = clock;
    if (screen.isTTY !== true) this.#shownMs = clock.monotonicMs();
  }

  /** Shows the text, at most once per interval. */
  show(text: string): void {
    const nowMs = this.#clock.monotonicMs();
    const isTerminal = this.#screen.isTTY === true;
    if (nowMs - this.#shownMs < (isTerminal ? terminalEveryMs : plainEveryMs)) return;
    this.#shownMs = nowMs;
    if (!isTerminal) return void this.#screen.write(`${text}\n`);
    // A terminal would wrap a longer line, and clear only its last part.
    const { columns = 0 } = this.#screen;
    this.#line = columns > 0 ? text.slice(0, columns - 1) : text;
    this.#screen.write(clearLine + this.#line);
  }

  above(print: () => void): void {
    if (this.#line !== '') this.#screen.write(clearLine);
    print();
    if (this.#line !== '') this.#screen.write(this.#line);
  }

  clear(): void {
    if (this.#line !== '') this.#screen.write(clearLine);
    this.#line = '';
  }
}
