/** Asks questions at the terminal. */
import type { CommandError } from './command-error.ts';
import { createInterface } from 'node:readline/promises';

/** One or several questions to the person at the terminal; answers may be typed ahead. */
export interface Dialogue {
  /** The typed line, trimmed; null at the end of input. Rejects when `signal` is aborted. */
  ask(question: string, signal: AbortSignal): Promise<string | null>;
  close(): void;
}

/** Null: standard input or standard error is not a terminal. */
export function dialogueOnTerminal(): (() => Dialogue) | null {
  return process.stdin.isTTY && process.stderr.isTTY ? openDialogue : null;
}

function openDialogue(): Dialogue {
  // Without `terminal`, the system turns Ctrl-C into a signal to the process.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const typed = lines[Symbol.asyncIterator]();
  return {
    async ask(question, signal) {
      signal.throwIfAborted();
      process.stderr.write(`${question} `);
      const line = await Promise.race([typed.next(), rejectionOf(signal)]);
      return line.done === true ? null : line.value.trim();
    },
    close: () => lines.close(),
  };
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Throws `refused` unless the answer is yes. */
export async function confirmAt(
  openDialogue: () => Dialogue,
  question: string,
  signal: AbortSignal,
  refused: CommandError,
): Promise<void> {
  const dialogue = openDialogue();
  try {
    if (!isYes((await dialogue.ask(question, signal)) ?? '')) throw refused;
  } catch (error) {
    throw signal.aborted ? refused : error;
  } finally {
    dialogue.close();
  }
}

export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
