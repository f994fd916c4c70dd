/**
 * One request on the ops listener: its body, a small one in memory and an upload in a file, and its answer. A response of the
 * front end must not be touched after an abort and is answered once; this is the only place that touches it.
 */
import { STATUS_CODES } from 'node:http';
import { createWriteStream } from 'node:fs';
import type { TurnBudget } from '../../lib/token-bucket.ts';
import type { HttpRequest, HttpResponse } from '../../lib/uws.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { isContentType, isJsonContentType } from '../../protocol/rest/content-type.ts';

export interface OpsAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the connection after the answer: a body that nobody will read. */
  readonly closeConnection?: boolean;
}

const ndjson = 'application/x-ndjson';

export class OpsExchange {
  readonly #response: HttpResponse;
  readonly #endsConnection: () => boolean;
  readonly #isHead: boolean;
  readonly #budget: TurnBudget;
  readonly #gone = new AbortController();
  #state: 'open' | 'streaming' | 'over' = 'open';
  /** Called once when the peer goes. */
  #whenGone: () => void = () => undefined;
  /** Called when the peer has taken what was written. */
  #whenWritable: () => void = () => undefined;

  /**
   * Within the front end's handler. To a HEAD no body is sent, which the front end would. `budget`: answers within one turn.
   * `endsConnection`: true while each answer ends its connection.
   */
  constructor(response: HttpResponse, method: string, budget: TurnBudget, endsConnection: () => boolean) {
    this.#response = response;
    this.#budget = budget;
    this.#isHead = method === 'HEAD';
    this.#endsConnection = endsConnection;
    response.onAborted(() => {
      this.#state = 'over';
      this.#whenGone();
      this.#gone.abort();
    });
  }

  /**
   * Does nothing when the peer has gone. Beyond the budget the answer is sent in a later turn; if the peer has sent another
   * request by then, the library closes the connection.
   */
  answer(answer: OpsAnswer): void {
    if (this.#state !== 'open') return;
    if (!this.#budget.take()) {
      setImmediate(() => this.answer(answer));
      return;
    }
    this.#state = 'over';
    const { status, contentType, body, headers, closeConnection } = answer;
    this.#response.cork(() => {
      this.#writeHead(status, contentType, headers);
      this.#response.end(this.#isHead ? '' : body, closeConnection === true || this.#endsConnection());
    });
  }

  answerJson(status: number, body: unknown, extra?: Pick<OpsAnswer, 'headers' | 'closeConnection'>): void {
    this.answer({
      status,
      contentType: 'application/json; charset=utf-8',
      body: JSON.stringify(body),
      ...extra,
    });
  }

  /** Begins the answer with the first line. Resolves to true when the next may come, to false when the peer has gone. */
  sendLine(line: unknown): Promise<boolean> {
    if (this.#state === 'over') return Promise.resolve(false);
    let hasRoom = false;
    this.#response.cork(() => {
      if (this.#state === 'open') this.#beginLines();
      hasRoom = this.#response.write(`${JSON.stringify(line)}\n`);
    });
    if (hasRoom) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#whenWritable = () => resolve(true);
      this.#whenGone = () => resolve(false);
    });
  }

  /** After the last line, if there was one. */
  endLines(): void {
    if (this.#state === 'over') return;
    this.#response.cork(() => {
      if (this.#state === 'open') this.#beginLines();
      this.#state = 'over';
      this.#response.end('', this.#endsConnection());
    });
  }

  /** Aborted when the peer goes before the answer is whole. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** A line was sent, so that the status can no longer be chosen. */
  get isStreaming(): boolean {
    return this.#state === 'streaming';
  }

  /**
   * Within the front end's handler. Each chunk is valid during the call only. `gone` is called when the peer goes
   * before the last chunk.
   */
  onBody(take: (chunk: ArrayBuffer, isLast: boolean) => void, gone: () => void): void {
    this.#whenGone = gone;
    this.#response.onData((chunk, isLast) => {
      if (isLast) this.#whenGone = () => undefined;
      take(chunk, isLast);
    });
  }

  pauseBody(): void {
    if (this.#state === 'open') this.#response.pause();
  }

  resumeBody(): void {
    if (this.#state === 'open') this.#response.resume();
  }

  /** The handler of the front end stays the first one given to it, so that it is given one for all lines. */
  #beginLines(): void {
    this.#state = 'streaming';
    this.#writeHead(200, ndjson);
    this.#response.onWritable(() => {
      this.#whenWritable();
      return true;
    });
  }

  #writeHead(status: number, contentType: string, headers: OpsAnswer['headers'] = {}): void {
    this.#response.writeStatus(`${status} ${STATUS_CODES[status] ?? 'Unknown'}`);
    this.#response.writeHeader('Content-Type', contentType);
    if (headers['Cache-Control'] === undefined) this.#response.writeHeader('Cache-Control', 'no-store');
    for (const [name, value] of Object.entries(headers)) this.#response.writeHeader(name, value);
  }
}

const adminBodyBytesMax = 256 * 1024;
/** About ten million devices. */
const uploadBytesMax = 2 * 1024 * 1024 * 1024;

/** A body as the headers announce it. */
export interface BodyTerms {
  /** Empty when there is none. */
  readonly contentType: string;
  /** As announced; null: in chunks, or none. */
  readonly bytes: number | null;
  readonly hasBody: boolean;
}

/** Within the front end's handler. */
export function bodyTermsOf(request: HttpRequest): BodyTerms {
  const length = request.getHeader('content-length');
  return {
    contentType: request.getHeader('content-type'),
    bytes: length === '' ? null : Number(length),
    hasBody: (length !== '' && length !== '0') || request.getHeader('transfer-encoding') !== '',
  };
}

export interface BodyRefusal {
  readonly status: 400 | 403 | 413 | 415 | 503;
  readonly message: string;
}

const tooLarge: BodyRefusal = { status: 413, message: 'request body too large' };
/** Never sent: the peer has hung up. */
const cutShort: BodyRefusal = { status: 400, message: 'request body cut short' };
const noJson: BodyRefusal = { status: 400, message: 'request body is not JSON' };
const noJsonType: BodyRefusal = { status: 415, message: 'Content-Type must be application/json' };
const noUploadType: BodyRefusal = {
  status: 415,
  message: 'Content-Type must be application/json or application/x-ndjson',
};

/** The parsed body; undefined where there is none. Call within the front end's handler. */
export async function takeJson(
  exchange: OpsExchange,
  terms: BodyTerms,
): Promise<Result<unknown, BodyRefusal>> {
  if (!terms.hasBody) return succeed(undefined);
  if (!isJsonContentType(terms.contentType)) return fail(noJsonType);
  if (terms.bytes !== null && terms.bytes > adminBodyBytesMax) return fail(tooLarge);
  const body = await readBody(exchange);
  if (!body.ok) return body;
  try {
    return succeed(JSON.parse(body.value.toString('utf8')));
  } catch {
    return fail(noJson);
  }
}

/**
 * The whole body in a new file, mode 0600. Call within the front end's handler. Rejects when the file cannot be
 * written; where it is not whole it may be there all the same.
 */
export async function takeUpload(
  exchange: OpsExchange,
  terms: BodyTerms,
  path: string,
): Promise<Result<undefined, BodyRefusal>> {
  const isKnownType =
    isJsonContentType(terms.contentType) || isContentType(terms.contentType, 'application/x-ndjson');
  if (!isKnownType) return fail(noUploadType);
  if (terms.bytes !== null && terms.bytes > uploadBytesMax) return fail(tooLarge);
  return spoolBody(exchange, path);
}

function readBody(exchange: OpsExchange): Promise<Result<Buffer, BodyRefusal>> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    exchange.onBody(
      (chunk, isLast) => {
        bytes += chunk.byteLength;
        if (bytes > adminBodyBytesMax) return resolve(fail(tooLarge));
        chunks.push(copyOf(chunk));
        if (isLast) resolve(succeed(Buffer.concat(chunks, bytes)));
      },
      () => resolve(fail(cutShort)),
    );
  });
}

/** Reads from the peer no faster than the disk takes it. */
function spoolBody(exchange: OpsExchange, path: string): Promise<Result<undefined, BodyRefusal>> {
  return new Promise((resolve, reject) => {
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600 });
    let bytes = 0;
    const giveUp = (refusal: BodyRefusal): void => {
      file.once('close', () => resolve(fail(refusal)));
      file.destroy();
    };
    file.on('error', reject);
    file.on('finish', () => resolve(succeed(undefined)));
    file.on('drain', () => exchange.resumeBody());
    exchange.onBody(
      (chunk, isLast) => {
        if (file.destroyed) return;
        bytes += chunk.byteLength;
        if (bytes > uploadBytesMax) return giveUp(tooLarge);
        if (isLast) file.end(copyOf(chunk));
        else if (!file.write(copyOf(chunk))) exchange.pauseBody();
      },
      () => giveUp(cutShort),
    );
  });
}

/** The front end takes its memory back when the handler returns. */
function copyOf(chunk: ArrayBuffer): Buffer {
  return Buffer.from(new Uint8Array(chunk));
}
