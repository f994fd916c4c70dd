/**
 * The API while its process is succeeded by another one: requests that come are held as they are, before their first check,
 * and answered by the process that has the devices then, through this one. Each answer ends its connection, so that the next
 * request comes to the other process by itself. Source: docs/adr/0027-upgrade-without-a-closed-socket.md.
 */
import { TurnBudget } from '../../lib/token-bucket.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../lib/uws.ts';
import { answersPerTurnMax, bodyBytesMax } from '../../model/limits.ts';
import { relayedRequestsMax } from '../../model/upgrade-limits.ts';
import { encodeEnvelope } from '../../protocol/rest/shared-fields.ts';
import { ApiRequest, type RelayedAnswer, type RequestContext } from './api-request.ts';

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

/** Resolves to null when its connection is to be closed without an answer. Never rejects. */
export type RelayTarget = (request: RelayedRequest) => Promise<RelayedAnswer | null>;

interface Held {
  readonly request: RelayedRequest;
  readonly answer: (answer: RelayedAnswer | null) => void;
}

export class RequestRelay {
  readonly #context: RequestContext;
  readonly #own: HttpHandler;
  /** Null: requests are answered here. */
  #held: Held[] | null = null;
  #target: RelayTarget | null = null;
  #waiting = 0;
  #idle: () => void = () => undefined;

  constructor(clock: RequestContext['clock'], own: HttpHandler) {
    this.#context = { clock, budget: new TurnBudget(answersPerTurnMax), ended: () => undefined };
    this.#own = own;
  }

  /** The front end's handler of every request. */
  readonly handle: HttpHandler = (response, request) => {
    // No route takes a HEAD, and its refusal needs no device.
    if (this.#held === null || request.getCaseSensitiveMethod() === 'HEAD') this.#own(response, request);
    else this.#take(new ApiRequest(response, request, this.#context));
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

  #take(request: ApiRequest): void {
    request.detach();
    if (this.#waiting >= relayedRequestsMax) return refuse(request);
    this.#waiting += 1;
    const answer = (relayed: RelayedAnswer | null): void => {
      this.#waiting -= 1;
      if (relayed === null) request.abandon();
      else request.answerAs(relayed);
      if (this.#waiting === 0) this.#idle();
    };
    const relayed = relayedOf(request);
    // A body that the checks refuse by its headers is not read.
    const bytes = request.framingFault === null ? request.bodyBytes : 0;
    if (bytes === 0 || bytes > bodyBytesMax) return this.#hold({ request: relayed, answer });
    request.readBody(bodyBytesMax, (result) => {
      if (result !== 'read') return answer(null);
      this.#hold({ request: { ...relayed, body: Buffer.from(request.body).toString('base64') }, answer });
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

function relayedOf(request: ApiRequest): RelayedRequest {
  const { method, path, query, headers } = request;
  return { method, path, query, headers: headers.fields, body: '', address: request.remoteAddress() };
}

function refuse(request: ApiRequest): void {
  request.identify(false);
  const message = 'too many requests wait for the new release';
  const body = encodeEnvelope('plain', 50301, message, request.requestId.id, null);
  request.answer({ status: 503, body, retryAfterS: 1, closeConnection: true });
}

/** Answers a relayed request by the handler of the front end's requests. */
export function answerRelayed(handle: HttpHandler, request: RelayedRequest): Promise<RelayedAnswer | null> {
  return new Promise((resolve) => handle(new RelayedResponse(request, resolve), httpRequest(request)));
}

function httpRequest({ method, path, query, headers }: RelayedRequest): HttpRequest {
  return {
    getCaseSensitiveMethod: () => method,
    getUrl: () => path,
    getQuery: () => query,
    forEach: (each) => {
      for (let at = 0; at < headers.length; at += 2) each(headers[at] ?? '', headers[at + 1] ?? '');
    },
  };
}

class RelayedResponse implements HttpResponse {
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

  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    listener(new Uint8Array(Buffer.from(this.#request.body, 'base64')).buffer, true);
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
    const text = typeof body === 'string' ? body : Buffer.from(body).toString();
    this.#resolve({ status: this.#status, headers: this.#headers, body: text });
  }

  /** Ends a HEAD, which is not relayed. */
  tryEnd(): void {}

  close(): void {
    this.#resolve(null);
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return new Uint8Array(Buffer.from(this.#request.address, 'latin1')).buffer;
  }
}
