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

type PlaceOption = readonly [flag: string, value: string];

/** The options that say which server or store is meant: those of this process, once it has read them. */
let placeOptions: readonly PlaceOption[] = [];

export function repeatInAdvice(options: readonly PlaceOption[]): void {
  placeOptions = options;
}

/**
 * How to call `reveille <rest>` from where this program was called, and for the same server or store, or the one that `place`
 * names: for advice on what to type next.
 */
export function reveilleCommand(rest: string, place = placeOptions): string {
  const program = isCheckout ? 'npm run -s reveille --' : packageCommand(process.argv[1] ?? '');
  // Profiles are of the user, whatever server is meant.
  const options = rest.startsWith('profile ') ? [] : place;
  return [program, rest, ...options.map(([flag, value]) => `${flag} ${shellWord(value)}`)].join(' ');
}

const builtScript = /[\\/]dist[\\/]main\.js$/;
/** Where npx puts a package that it fetched for one command: nothing there has a name to call it by. */
const fetchedByNpx = /[\\/]_npx[\\/]/;

/** `script`: the path by which this program was called, of a build or of an installed package. */
export function packageCommand(script: string, folder = process.cwd()): string {
  const [, above] = /^(.*)[\\/]node_modules[\\/]/.exec(script) ?? [];
  if (fetchedByNpx.test(script) || (above === undefined && builtScript.test(script)))
    return `node ${shellWord(script)}`;
  return above !== undefined && `${folder}/`.startsWith(`${above}/`) ? 'npx reveille' : 'reveille';
}

/** A word as a shell has to be given it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
