/**
 * One request: its data, copied out of the front end's memory, which is valid only while its handler runs; its credential; and
 * its single answer. A response of the front end must not be used after an abort and is answered once, so only this class uses
 * it. It is one object because this is the hottest path.
 * Source: decisions.md, HTTP (64 KiB); API doc, Endpoint 2.
 */
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { remoteAddress } from '../../lib/connections/address-key.ts';
import type { TurnBudget } from '../../lib/token-bucket.ts';
import type { HttpRequest, HttpResponse } from '../../lib/uws.ts';
import {
  generateRequestId,
  parseRequestId,
  type ApplicationId,
  type DeviceId,
  type RequestId,
} from '../../model/ids.ts';
import { bodyReadMsMax } from '../../model/limits.ts';
import type { Credential } from '../../model/registry.ts';
import type { JsonText } from '../../protocol/rest/shared-fields.ts';
import { RequestHeaders } from './request-headers.ts';
import type { AdmittedCall } from './dispatcher.ts';
import type { RequestIdentity, UnreadCall } from './route.ts';

const statusLines: Readonly<Record<number, string>> = {
  202: '202 Accepted',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  411: '411 Length Required',
  413: '413 Content Too Large',
  415: '415 Unsupported Media Type',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
  504: '504 Gateway Timeout',
};

/** `gone`: the peer disconnected or was too slow. */
export type BodyRead = 'read' | 'too-large' | 'gone';

interface BodyReading {
  readonly bytesMax: number;
  readonly keeps: boolean;
  readonly done: (result: BodyRead) => void;
  readonly stop: Cancel;
  readonly chunks: Buffer[];
  bytes: number;
}

export interface RequestContext {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Maximum number of answers per turn of the event loop. */
  readonly budget: TurnBudget;
  /** Called once per request, when it was answered, aborted by the peer or abandoned. */
  readonly ended: (request: ApiRequest) => void;
}

export interface Answer {
  readonly status: number;
  readonly body: JsonText;
  /** Methods of the path, for a 405. */
  readonly allow?: string | undefined;
  readonly retryAfterS?: number | undefined;
  readonly repeatOf?: RequestId | undefined;
  /** Closes the connection after the answer: the server drains, or the body will not be read. */
  readonly closeConnection: boolean;
}

const typeAndRequestId = 'application/json; charset=utf-8\r\nX-Tg-Request-Id: ';

const emptyBody = new Uint8Array(0);

export class ApiRequest implements UnreadCall, AdmittedCall {
  readonly method: string;
  readonly path: string;
  /** As sent, without `?`; empty: none. */
  readonly query: string;
  readonly headers: RequestHeaders;
  readonly startedMs: number;
  /** Empty until it is read, or if there is none. */
  body: Uint8Array = emptyBody;
  signature = '';
  signatureExpiresMs = 0;
  deviceId: DeviceId | null = null;
  isLongPoll = false;
  readonly #response: HttpResponse;
  readonly #context: RequestContext;
  #requestId: RequestIdentity | null = null;
  #credential: Credential | null = null;
  #open = true;
  #detached = false;
  #gone = false;
  #isBodyRead = false;
  #goneListener: (() => void) | null = null;
  /** Null: the body is not being read. */
  #reading: BodyReading | null = null;

  constructor(response: HttpResponse, request: HttpRequest, context: RequestContext) {
    this.startedMs = context.clock.monotonicMs();
    this.headers = new RequestHeaders(request);
    this.method = request.getCaseSensitiveMethod();
    this.path = request.getUrl();
    this.query = request.getQuery() ?? '';
    this.#response = response;
    this.#context = context;
  }

  get repeated(): boolean {
    return this.headers.repeated;
  }

  /**
   * The code that refuses a request whose end is uncertain; null: it is certain. Request smuggling: a proxy and this server could
   * disagree on the message boundary.
   */
  get framingFault(): 41100 | 40000 | null {
    const { headers } = this;
    if (headers.get('transfer-encoding') !== undefined) return 41100;
    const length = headers.get('content-length');
    if (length === undefined) return null;
    return headers.repeatsLength || !/^\d+$/.test(length) ? 40000 : null;
  }

  /** Sets the effective request id. Called first, so that every answer carries it. */
  identify(acceptsRequestId: boolean): void {
    const given = acceptsRequestId ? this.headers.get('x-request-id') : undefined;
    const id = given === undefined || this.headers.repeatsRequestId ? null : parseRequestId(given);
    if (id !== null) this.#requestId = { id, origin: 'caller' };
    else this.#requestId = { id: generateRequestId(), origin: given === undefined ? 'absent' : 'invalid' };
  }

  get requestId(): RequestIdentity {
    assert(this.#requestId !== null, 'a request is identified first');
    return this.#requestId;
  }

  prove(credential: Credential): void {
    this.#credential = credential;
  }

  get credential(): Credential {
    assert(this.#credential !== null, 'a request is authentic before it is handled');
    return this.#credential;
  }

  /** The application whose credential signed the request; null: not authenticated. */
  get provenAppId(): ApplicationId | null {
    return this.#credential?.appId ?? null;
  }

  get claimedAppId(): string {
    return this.headers.get('x-tg-app-id') ?? '';
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Requires a request without a framing fault. */
  get bodyBytes(): number {
    return Number(this.headers.get('content-length') ?? 0);
  }

  /** Must be called before the front end's handler returns without an answer. */
  detach(): void {
    if (this.#detached) return;
    this.#detached = true;
    this.#response.onAborted(() => this.#hangUp());
  }

  /**
   * Reads the body of at most `bytesMax` within its deadline, then calls `done` once, in this turn or a later one. `keeps` false
   * discards the body. `done` is not called if the request is answered first. The body may be read again afterwards.
   */
  readBody(bytesMax: number, done: (result: BodyRead) => void, keeps = true): void {
    if (this.#isBodyRead) return done('read');
    const stop = this.#context.clock.after(bodyReadMsMax, () => this.#bodyIsLate());
    const reading: BodyReading = { bytesMax, keeps, done, stop, chunks: [], bytes: 0 };
    this.#reading = reading;
    this.#response.onData((chunk, isLast) => this.#receiveChunk(reading, chunk, isLast));
  }

  /** Sets the only listener, called once if the peer hangs up before the answer, or at once if it already has. */
  onGone(listener: () => void): void {
    assert(this.#goneListener === null, 'one listener learns that the peer has gone');
    if (this.#gone) listener();
    else if (this.#open) this.#goneListener = listener;
  }

  /**
   * Does nothing if the peer has disconnected. Within the front end's handler, answers that close the connection or exceed the
   * budget are delayed to the next turn. The library closes the connection if another request was sent before the answer, so
   * nothing after the answer is read, and no peer can block the event loop.
   */
  answer(answer: Answer): void {
    if (!this.#open) return;
    if (!this.#detached && (answer.closeConnection || !this.#context.budget.spend())) {
      this.detach();
      setImmediate(() => this.answer(answer));
      return;
    }
    this.#end();
    // Within the front end's handler the response is already corked.
    if (this.#detached) this.#response.cork(() => this.#write(answer));
    else this.#write(answer);
    // No route accepts HEAD. The library would wait for a body after the answer's headers, so the connection is closed.
    if (this.method === 'HEAD') this.#response.close();
  }

  /** Requires an open request. */
  remoteAddress(): string {
    return remoteAddress(this.#response);
  }

  abandon(): void {
    if (!this.#open) return;
    this.#end();
    this.#response.close();
  }

  #receiveChunk(reading: BodyReading, chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#reading !== reading) return;
    const { bytesMax, keeps, done, chunks } = reading;
    reading.bytes += chunk.byteLength;
    const fits = reading.bytes <= bytesMax;
    // A chunk is valid only during this call.
    if (keeps && fits) chunks.push(Buffer.from(new Uint8Array(chunk)));
    if (!isLast && fits) return;
    this.#isBodyRead = true;
    const [first] = chunks;
    if (keeps && fits)
      this.body = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, reading.bytes);
    this.#stopReading();
    done(fits ? 'read' : 'too-large');
  }

  #bodyIsLate(): void {
    const done = this.#reading?.done;
    this.abandon();
    done?.('gone');
  }

  #stopReading(): void {
    this.#reading?.stop();
    this.#reading = null;
  }

  #hangUp(): void {
    if (!this.#open) return;
    this.#gone = true;
    const listener = this.#goneListener;
    const done = this.#reading?.done;
    this.#end();
    done?.('gone');
    listener?.();
  }

  #end(): void {
    this.#open = false;
    this.#goneListener = null;
    this.#stopReading();
    this.#context.ended(this);
  }

  #write(answer: Answer): void {
    const response = this.#response;
    // The front end writes status 200 by default.
    if (answer.status !== 200) response.writeStatus(statusLines[answer.status] ?? `${answer.status}`);
    // Two header lines in one call, since a call costs more than its bytes. Safe: an id is printable ASCII, without line breaks.
    response.writeHeader('Content-Type', typeAndRequestId + this.requestId.id);
    if (answer.allow !== undefined) response.writeHeader('Allow', answer.allow);
    if (answer.repeatOf !== undefined) response.writeHeader('X-Tg-Repeat-Of', answer.repeatOf);
    if (answer.retryAfterS !== undefined) response.writeHeader('Retry-After', `${answer.retryAfterS}`);
    if (this.method !== 'HEAD') return response.end(answer.body, answer.closeConnection);
    // A HEAD answer has the length of the body but no body.
    response.writeHeader('Connection', 'close');
    response.tryEnd('', Buffer.byteLength(answer.body));
  }
}
