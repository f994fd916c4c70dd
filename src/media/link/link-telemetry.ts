/**
 * The log and the counts of a media process on their way to its server, which writes the one and adds up the others.
 * Source: calls-and-media.md, The media process.
 */
import { linkLogCharactersMax, linkLogLinesMax, linkTallyItemsMax } from '../../model/limits.ts';
import type { MediaMessage, Tally } from '../../protocol/media-link/link-message.ts';
import type { Log } from '../../lib/log.ts';
import type { LegRefusal } from '../../model/call.ts';
import type { MediaFrameResult } from '../../model/media/picture.ts';
import type { MediaTelemetry } from '../../telemetry/telemetry.ts';

type Level = 'debug' | 'info' | 'warn' | 'error';
type LogMessage = Extract<MediaMessage, { readonly kind: 'log' }>;

const messageCharactersMax = 1024;

/**
 * So many lines cross between two heartbeats, and none while the link is congested; the number of those that were lost
 * is a line itself. The fields go as the text of their JSON.
 */
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

/** Counts, added up until they cross the link. */
export class TelemetryBatch implements MediaTelemetry {
  readonly #send: (tally: Tally) => void;
  readonly #counted: () => void;
  readonly #logins = new Map<'accepted' | LegRefusal, number>();
  readonly #frames = new Map<MediaFrameResult, number>();
  #frameSeconds: number[] = [];
  #loginCount = 0;
  #rebuilds = 0;

  /** `counted`: called at whatever is counted. */
  constructor(send: (tally: Tally) => void, counted: () => void) {
    this.#send = send;
    this.#counted = counted;
  }

  mediaLogin(result: 'accepted' | LegRefusal): void {
    this.#logins.set(result, (this.#logins.get(result) ?? 0) + 1);
    this.#loginCount += 1;
    this.#counted();
    this.#flushIfFull();
  }

  mediaFrames(result: MediaFrameResult, count: number): void {
    this.#frames.set(result, (this.#frames.get(result) ?? 0) + count);
    this.#counted();
  }

  mediaRebuilds(count: number): void {
    this.#rebuilds += count;
  }

  mediaFrameTime(seconds: number): void {
    this.#frameSeconds.push(seconds);
    this.#flushIfFull();
  }

  /** Sends the counts, if there are any. */
  flush(): void {
    if (this.#isEmpty) return;
    this.#send({
      logins: [...this.#logins],
      frames: [...this.#frames],
      rebuilds: this.#rebuilds,
      frameSeconds: this.#frameSeconds,
    });
    this.#logins.clear();
    this.#frames.clear();
    this.#frameSeconds = [];
    this.#loginCount = 0;
    this.#rebuilds = 0;
  }

  get #isEmpty(): boolean {
    const counted = this.#loginCount + this.#frames.size + this.#rebuilds + this.#frameSeconds.length;
    return counted === 0;
  }

  #flushIfFull(): void {
    if (this.#loginCount >= linkTallyItemsMax || this.#frameSeconds.length >= linkTallyItemsMax) this.flush();
  }
}

/** The server's side of it. */
export function applyTally(
  telemetry: MediaTelemetry,
  { logins, frames, rebuilds, frameSeconds }: Tally,
): void {
  for (const [result, count] of logins) for (let n = 0; n < count; n += 1) telemetry.mediaLogin(result);
  for (const [result, count] of frames) telemetry.mediaFrames(result, count);
  if (rebuilds > 0) telemetry.mediaRebuilds(rebuilds);
  for (const seconds of frameSeconds) telemetry.mediaFrameTime(seconds);
}
