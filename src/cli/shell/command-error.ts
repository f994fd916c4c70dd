/** A failure reported to a person: one sentence, and what to do next. It has no stack trace. */
import { fileURLToPath } from 'node:url';

export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** The next step; null if the sentence contains it. */
  readonly advice: string | null;
  /** 1: the command failed; 2: wrong usage. */
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

type PlaceOption = readonly [flag: string, value: string];

/** The options of this process that select a server or store, once parsed. */
let placeOptions: readonly PlaceOption[] = [];

export function repeatInAdvice(options: readonly PlaceOption[]): void {
  placeOptions = options;
}

/**
 * The command line for `reveille <rest>` in the way this program was called, for the same server or store or the one in `place`.
 * Used in advice.
 */
export function reveilleCommand(rest: string, place = placeOptions): string {
  const program = isCheckout ? 'npm run -s reveille --' : packageCommand(process.argv[1] ?? '');
  // Profiles belong to the user, not to a server.
  const options = rest.startsWith('profile ') ? [] : place;
  return [program, rest, ...options.map(([flag, value]) => `${flag} ${shellWord(value)}`)].join(' ');
}

const builtScript = /[\\/]dist[\\/]main\.js$/;
/** The folder of a package that npx fetched for one command: no command name exists for it later. */
const fetchedByNpx = /[\\/]_npx[\\/]/;

/** `script`: the path by which this program was called, from a build or an installed package. */
export function packageCommand(script: string, folder = process.cwd()): string {
  const [, above] = /^(.*)[\\/]node_modules[\\/]/.exec(script) ?? [];
  if (fetchedByNpx.test(script) || (above === undefined && builtScript.test(script)))
    return `node ${shellWord(script)}`;
  return above !== undefined && `${folder}/`.startsWith(`${above}/`) ? 'npx reveille' : 'reveille';
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
