/**
 * The output of a command: its answer on standard output, as text for people or, with `--json`, as one JSON value a
 * line for machines; refusals and remarks for people, and the line of progress, on standard error, where they spoil no
 * pipe. Text from strangers is shown escaped.
 */
import type { Clock } from '../../lib/clock.ts';
import { showable, showableLines } from '../../lib/showable-text.ts';
import { colourStates } from './state-colours.ts';

export interface Output {
  readonly wantsJson: boolean;
  /** Writes the answer in the form that was asked for. */
  answer(json: unknown, text: string): void;
  /** Writes an answer that refuses: for people on standard error. The command exits 1. */
  refusal(json: unknown, text: string): void;
  /** Writes a remark for people; nothing with `--json`. */
  remark(text: string): void;
  /** Writes on standard error what nobody should miss, with `--json` as an object. */
  warning(text: string): void;
}

/** True when these arguments, typed behind the program's name, ask for JSON: also when they are otherwise wrong. */
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

/** `NO_COLOR` and a dumb terminal have no colours, as Node finds. */
function shown(text: string): string {
  const lines = showableLines(text);
  return process.stdout.isTTY && process.stdout.hasColors() ? colourStates(lines) : lines;
}

/** A dash stands for an absent value. */
export type Cell = string | number | null | undefined;

/** Aligns rows of equal length in columns two spaces apart; a cell stays one line, whatever is in it. */
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

/** A row for each of `items` below the names of the columns. */
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
  /** Characters in a line; unknown, or 0: as many as one likes. */
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
    // A terminal would break a longer line, and clear its last part only.
    const { columns = 0 } = this.#screen;
    this.#line = columns > 0 ? text.slice(0, columns - 1) : text;
    this.#screen.write(clearLine + this.#line);
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
