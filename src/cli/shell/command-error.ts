/** A failure that a command reports to a person: one sentence, and what to do next. Never a stack trace. */
import { fileURLToPath } from 'node:url';

export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** The next thing to do; null when the sentence says it. */
  readonly advice: string | null;
  /** 1: it failed; 2: the request itself is wrong. */
  readonly exitCode: 1 | 2;

  constructor(message: string, advice: string | null = null, exitCode: 1 | 2 = 1) {
    super(message);
    this.advice = advice;
    this.exitCode = exitCode;
  }
}

export function usageError(message: string, advice: string | null = null): CommandError {
  return new CommandError(message, advice, 2);
}

const isCheckout = fileURLToPath(import.meta.url).endsWith('.ts');

/** How to call `reveille <rest>` from where this program was called: for advice on what to type next. */
export function reveilleCommand(rest: string): string {
  return `${isCheckout ? 'npm run -s reveille --' : 'reveille'} ${rest}`;
}
