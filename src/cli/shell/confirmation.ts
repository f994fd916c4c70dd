/** A question to the person at the terminal, for what cannot be undone. */
import { createInterface } from 'node:readline/promises';

/** False: no. Rejects when `signal` is aborted. */
export type Confirm = (question: string, signal: AbortSignal) => Promise<boolean>;

/** Null: standard input or standard error is no terminal. */
export function confirmOnTerminal(): Confirm | null {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return null;
  return async (question, signal) => {
    // Without `terminal` the system handles Ctrl-C, and the process gets its signal.
    const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
    try {
      const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
      return isYes(await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended]));
    } finally {
      lines.close();
    }
  };
}

function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
