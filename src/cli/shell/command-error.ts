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

/** The options that say which server or store is meant, quoted for a shell: those of this process, once it has read them. */
let placeOptions = '';

/** `options`: flag and value each. */
export function repeatInAdvice(options: readonly (readonly [flag: string, value: string])[]): void {
  placeOptions = options.map(([flag, value]) => ` ${flag} ${shellWord(value)}`).join('');
}

/**
 * How to call `reveille <rest>` from where this program was called, and for the same server or store: for advice on what to
 * type next.
 */
export function reveilleCommand(rest: string): string {
  const program = isCheckout ? 'npm run -s reveille --' : 'reveille';
  // Profiles are of the user, whatever server is meant.
  return `${program} ${rest}${rest.startsWith('profile ') ? '' : placeOptions}`;
}

/** A word as a shell has to be given it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
