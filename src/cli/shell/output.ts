/**
 * The output of a command: its answer on standard output, as text for people or, with `--json`, as one JSON value a
 * line for machines; remarks for people on standard error, where they spoil no pipe. Text from strangers is shown
 * escaped where a terminal would obey it, or where it turns or hides other text.
 */

export interface Output {
  readonly wantsJson: boolean;
  /** Writes the answer in the form that was asked for. */
  answer(json: unknown, text: string): void;
  /** Writes a remark for people; nothing with `--json`. */
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

/** Aligns rows of equal length in columns two spaces apart; a cell stays one line, whatever is in it. */
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

/** Control characters, and characters that turn or hide text. */
const unshowable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;
/** Characters that no text of ours has: controls but a line feed and a tab, and direction marks. */
const dangerous = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Escapes an id, or other text from outside, for one line. */
export function showable(text: string): string {
  return text.replaceAll(unshowable, escaped);
}

/** Escapes whole lines of a command's output, so that they cannot control the terminal. */
export function showableLines(text: string): string {
  return text.replaceAll(dangerous, (found) => (found === '\n' || found === '\t' ? found : escaped(found)));
}

function escaped(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  return code < 0x1_00_00 ? `\\u${code.toString(16).padStart(4, '0')}` : `\\u{${code.toString(16)}}`;
}
