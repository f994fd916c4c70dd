/**
 * The API while its process is succeeded by another one: requests that come are held as they are, before their first check,
 * and answered by the process that has the devices then, through this one. Each answer ends its connection, so that the next
 * request comes to the other process by itself. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import type { Clock } from '../../lib/clock.ts';
import { remoteAddress } from '../../lib/connections/address-key.ts';
import type { HttpRequest, HttpResponse } from '../../lib/uws.ts';
import { bodyBytesMax, bodyReadMsMax } from '../../model/limits.ts';
import { relayedRequestsMax } from '../../model/upgrade-limits.ts';
import { encodeEnvelope } from '../../protocol/rest/shared-fields.ts';
import { generateRequestId } from '../../model/ids.ts';

/** A request as it came. */
export interface RelayedRequest {
  readonly method: string;
  readonly path: string;
  /** Empty: there is none. */
  readonly query: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  /** In base64; empty where it has none, or more than is read. */
  readonly body: string;
  readonly address: string;
}

/** What is written to its connection. */
export interface RelayedAnswer {
  readonly status: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: string;
}

/** Resolves to null when its connection is to be closed without an answer. Never rejects. */
export type RelayTarget = (request: RelayedRequest) => Promise<RelayedAnswer | null>;

type Handle = (response: HttpResponse, request: HttpRequest) => void;

interface Held {
  readonly request: RelayedRequest;
  readonly answer: (answer: RelayedAnswer | null) => void;
}

export class RequestRelay {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #own: Handle;
  /** Null: requests are answered here. */
  #held: Held[] | null = null;
  #target: RelayTarget | null = null;
  #waiting = 0;
  #idle: () => void = () => undefined;

  constructor(clock: Pick<Clock, 'after'>, own: Handle) {
    this.#clock = clock;
    this.#own = own;
  }

  /** The front end's handler of every request. */
  readonly handle: Handle = (response, request) => {
    if (this.#held === null) this.#own(response, request);
    else this.#take(response, request);
  };

  hold(): void {
    this.#held ??= [];
  }

  /** What was held goes to `target`, in its order, and all that comes from now on. */
  relayTo(target: RelayTarget): void {
    this.#target = target;
    for (const held of this.#held?.splice(0) ?? []) this.#send(held, target);
  }

  /** Resolves when no request waits for its answer. */
  async idle(): Promise<void> {
    while (this.#waiting > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  #take(response: HttpResponse, incoming: HttpRequest): void {
    const exchange = new Exchange(response);
    if (this.#waiting >= relayedRequestsMax) return exchange.answer(refusal());
    this.#waiting += 1;
    const settle = (answer: RelayedAnswer | null): void => {
      this.#waiting -= 1;
      exchange.answer(answer);
      if (this.#waiting === 0) this.#idle();
    };
    const request = copyRequest(response, incoming);
    const bytes = bodyBytesOf(request.headers);
    if (bytes === 0) return this.#hold({ request, answer: settle });
    const giveUp = this.#clock.after(bodyReadMsMax, () => exchange.abandon());
    exchange.readBody(bytes, (body) => {
      giveUp();
      if (body === null) settle(null);
      else this.#hold({ request: { ...request, body: body.toString('base64') }, answer: settle });
    });
  }

  #hold(held: Held): void {
    if (this.#target === null) this.#held?.push(held);
    else this.#send(held, this.#target);
  }

  #send({ request, answer }: Held, target: RelayTarget): void {
    void target(request).then(answer);
  }
}

/** Of the front end's response, which must not be touched after an abort. */
class Exchange {
  readonly #response: HttpResponse;
  #isOpen = true;
  #gone: () => void = () => undefined;

  constructor(response: HttpResponse) {
    this.#response = response;
    response.onAborted(() => {
      this.#isOpen = false;
      this.#gone();
    });
  }

  /** Calls `done` once; null: the peer has gone. */
  readBody(bytesMax: number, done: (body: Buffer | null) => void): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let isDone = false;
    const finish = (body: Buffer | null): void => {
      if (!isDone) done(body);
      isDone = true;
    };
    this.#gone = () => finish(null);
    this.#response.onData((chunk, isLast) => {
      if (!this.#isOpen) return;
      bytes += chunk.byteLength;
      // A chunk is valid during the call only.
      if (bytes <= bytesMax) chunks.push(Buffer.from(new Uint8Array(chunk)));
      if (isLast) finish(Buffer.concat(chunks));
    });
  }

  abandon(): void {
    if (this.#isOpen) this.#response.close();
  }

  answer(answer: RelayedAnswer | null): void {
    if (!this.#isOpen) return;
    const response = this.#response;
    if (answer === null) return void response.close();
    this.#isOpen = false;
    const { status, headers, body } = answer;
    response.cork(() => {
      response.writeStatus(status);
      for (let at = 0; at < headers.length; at += 2)
        response.writeHeader(headers[at] ?? '', headers[at + 1] ?? '');
      response.end(body, true);
    });
  }
}

function copyRequest(response: HttpResponse, request: HttpRequest): RelayedRequest {
  const headers: string[] = [];
  request.forEach((name, value) => void headers.push(name, value));
  return {
    method: request.getCaseSensitiveMethod(),
    path: request.getUrl(),
    query: request.getQuery() ?? '',
    headers,
    body: '',
    address: remoteAddress(response),
  };
}

/** What is read of the body: all of it, or nothing where the checks refuse the request by its headers. */
function bodyBytesOf(headers: readonly string[]): number {
  if (headerOf(headers, 'transfer-encoding') !== null) return 0;
  const length = headerOf(headers, 'content-length') ?? '';
  const bytes = /^\d+$/.test(length) ? Number(length) : 0;
  return bytes > bodyBytesMax ? 0 : bytes;
}

function headerOf(headers: readonly string[], name: string): string | null {
  for (let at = headers.length - 2; at >= 0; at -= 2) if (headers[at] === name) return headers[at + 1] ?? '';
  return null;
}

function refusal(): RelayedAnswer {
  const id = generateRequestId();
  const body = encodeEnvelope('plain', 50301, 'too many requests wait for the new release', id, null);
  return {
    status: '503 Service Unavailable',
    headers: ['Content-Type', 'application/json; charset=utf-8', 'Retry-After', '1', 'X-Tg-Request-Id', id],
    body: textOf(body),
  };
}

/** Answers a relayed request by the handler of the front end's requests. */
export function answerRelayed(handle: Handle, request: RelayedRequest): Promise<RelayedAnswer | null> {
  return new Promise((resolve) => {
    // They have what the pipeline asks of the front end's, and no more.
    const response = new RelayedResponse(request, resolve) as unknown as HttpResponse;
    handle(response, relayedRequest(request) as unknown as HttpRequest);
  });
}

function relayedRequest({ method, path, query, headers }: RelayedRequest): object {
  return {
    getCaseSensitiveMethod: () => method,
    getUrl: () => path,
    getQuery: () => query,
    forEach: (each: (name: string, value: string) => void) => {
      for (let at = 0; at < headers.length; at += 2) each(headers[at] ?? '', headers[at + 1] ?? '');
    },
  };
}

class RelayedResponse {
  readonly #request: RelayedRequest;
  readonly #resolve: (answer: RelayedAnswer | null) => void;
  readonly #headers: string[] = [];
  #status = '200 OK';

  constructor(request: RelayedRequest, resolve: (answer: RelayedAnswer | null) => void) {
    this.#request = request;
    this.#resolve = resolve;
  }

  /** Its peer is another process's: whether that goes is not told here. */
  onAborted(): void {}

  onData(take: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    const bytes = Buffer.from(this.#request.body, 'base64');
    take(new Uint8Array(bytes).buffer, true);
  }

  cork(write: () => void): void {
    write();
  }

  writeStatus(status: string): void {
    this.#status = status;
  }

  writeHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  end(body: string | Uint8Array): void {
    this.#resolve({ status: this.#status, headers: this.#headers, body: textOf(body) });
  }

  close(): void {
    this.#resolve(null);
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return new Uint8Array(Buffer.from(this.#request.address, 'latin1')).buffer;
  }
}

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString();
}
