/**
 * What a command says: its answer on standard output, as text for people or, with `--json`, as one JSON value a
 * line for machines; remarks for people on standard error, where they spoil no pipe.
 */
import { showable, showableLines } from './showable.ts';

export interface Output {
  readonly wantsJson: boolean;
  /** The answer, in both forms. */
  answer(json: unknown, text: string): void;
  /** For people only: nothing with `--json`. */
  remark(text: string): void;
}

export class ProcessOutput implements Output {
  readonly wantsJson: boolean;

  constructor(wantsJson: boolean) {
    this.wantsJson = wantsJson;
  }

  answer(json: unknown, text: string): void {
    process.stdout.write(`${this.wantsJson ? JSON.stringify(json) : showableLines(text)}\n`);
  }

  remark(text: string): void {
    if (!this.wantsJson) process.stderr.write(`${showableLines(text)}\n`);
  }
}

/** Rows of equally many cells, in columns parted by two spaces; a cell is one line, whatever is in it. */
export function alignColumns(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(showable));
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}
