/** A log that is sent over a link to the process that writes it. */
import type { Log } from '../log.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** `fields`: as JSON text. */
export interface LogLine {
  readonly kind: 'log';
  readonly level: LogLevel;
  readonly fields: string;
  readonly message: string;
}

export interface LinkLogBounds {
  /** Lines between two heartbeats. */
  readonly linesMax: number;
  /** Maximum length of the fields' JSON text. */
  readonly charactersMax: number;
}

const messageCharactersMax = 1024;

/**
 * Sends a bounded number of lines between two heartbeats, and none while the link is congested; dropped lines are counted in a
 * line of their own.
 */
export class LinkLog implements Log {
  readonly #bounds: LinkLogBounds;
  readonly #send: (line: LogLine) => void;
  readonly #isCongested: () => boolean;
  #lines = 0;
  #lost = 0;

  constructor(bounds: LinkLogBounds, send: (line: LogLine) => void, isCongested: () => boolean) {
    this.#bounds = bounds;
    this.#send = send;
    this.#isCongested = isCongested;
  }

  debug(fields: object, message: string): void {
    this.#write('debug', fields, message);
  }

  info(fields: object, message: string): void {
    this.#write('info', fields, message);
  }

  warn(fields: object, message: string): void {
    this.#write('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#write('error', fields, message);
  }

  heartbeat(): void {
    const lost = this.#lost;
    this.#lines = 0;
    this.#lost = 0;
    if (lost > 0) this.warn({ lost }, 'log lines dropped: more than the link carries between two heartbeats');
  }

  #write(level: LogLevel, fields: object, message: string): void {
    if (this.#lines >= this.#bounds.linesMax || this.#isCongested()) {
      this.#lost += 1;
      return;
    }
    this.#lines += 1;
    const said = message.slice(0, messageCharactersMax);
    this.#send({ kind: 'log', level, fields: this.#encode(fields), message: said });
  }

  #encode(fields: object): string {
    const { charactersMax } = this.#bounds;
    const text = tryEncode(fields);
    if (text.length <= charactersMax) return text;
    // Encoding the text again at most doubles each character.
    return JSON.stringify({ cut: text.slice(0, charactersMax / 4) });
  }
}

function tryEncode(fields: object): string {
  try {
    return JSON.stringify(fields, plain);
  } catch (error) {
    return JSON.stringify({ unreadable: String(error) });
  }
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return { type: name, message, code: 'code' in value ? value.code : undefined, stack, cause };
}

/** Writes a received line. `under`: wraps the fields in a key of this name, so that the line cannot pass for one of this process. */
export function writeLine(
  log: Log,
  { level, fields, message }: LogLine,
  under: (fields: unknown) => object,
): void {
  log[level](under(decodeFields(fields)), message);
}

/** Bounds the nesting, so that a writer may recurse through the fields. */
const bracketsMax = 200;

/** Text that is not JSON, or nests too deeply, stays text. */
function decodeFields(text: string): unknown {
  if ((text.match(/[[{]/g)?.length ?? 0) > bracketsMax) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
