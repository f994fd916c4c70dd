/**
 * The log of a media process, written by its server. So many lines cross between two heartbeats, and none while the link
 * is congested; the number of those that were lost is a line itself. The fields go as the text of their JSON.
 */
import { linkLogCharactersMax, linkLogLinesMax } from '../../model/limits.ts';
import type { MediaMessage } from '../../protocol/media-link/link-message.ts';
import type { Log } from '../../core/ports/log.ts';

type Level = 'debug' | 'info' | 'warn' | 'error';
type LogMessage = Extract<MediaMessage, { readonly kind: 'log' }>;

const messageCharactersMax = 1024;

export class LinkLog implements Log {
  readonly #send: (line: LogMessage) => void;
  readonly #isCongested: () => boolean;
  #lines = 0;
  #lost = 0;

  constructor(send: (line: LogMessage) => void, isCongested: () => boolean) {
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

  /** From now on as many lines may cross again. */
  heartbeat(): void {
    const lost = this.#lost;
    this.#lines = 0;
    this.#lost = 0;
    if (lost > 0) this.warn({ lost }, 'lines of this log are lost: there were too many at once');
  }

  #write(level: Level, fields: object, message: string): void {
    if (this.#lines >= linkLogLinesMax || this.#isCongested()) {
      this.#lost += 1;
      return;
    }
    this.#lines += 1;
    const said = message.slice(0, messageCharactersMax);
    this.#send({ kind: 'log', level, fields: encodeFields(fields), message: said });
  }
}

function encodeFields(fields: object): string {
  const text = tryEncode(fields);
  if (text.length <= linkLogCharactersMax) return text;
  // Written anew, no character of it takes more than two.
  return JSON.stringify({ cut: text.slice(0, linkLogCharactersMax / 4) });
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

/** The server's side of it. Under a name of its own, so that it cannot be taken for a line of the server. */
export function writeLine(log: Log, { level, fields, message }: LogMessage): void {
  log[level]({ media: decodeFields(fields) }, message);
}

/** A text with no more brackets nests no deeper, so that a writer may go through it level by level. */
const bracketsMax = 200;

/** A text that is not JSON, or nests too deep, stays text. */
function decodeFields(text: string): unknown {
  if ((text.match(/[[{]/g)?.length ?? 0) > bracketsMax) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
