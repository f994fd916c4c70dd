/**
 * Requests that come before their server can answer: a successor listens while the core before it closes its store. Each is
 * kept as it came, before its first check, and handled in its order once there is a handler. Source: scale-out.md, Edges.
 */
import type { Clock } from '../../lib/clock.ts';
import { TurnBudget } from '../../lib/token-bucket.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../lib/uws.ts';
import { answersPerTurnMax, bodyBytesMax, heldBytesMax, heldRequestsMax } from '../../model/limits.ts';
import { encodeEnvelope } from '../../protocol/rest/shared-fields.ts';
import { ApiRequest, type RequestContext } from './api-request.ts';

/** Beside its body, a held request counts as so many bytes: the library bounds its head. */
const headBytes = 4096;

export class HeldRequests {
  readonly #context: RequestContext;
  /** In the order of their arrival. */
  readonly #held = new Set<HeldRequest>();
  #bytes = 0;
  /** Null: requests are held. */
  #handler: HttpHandler | null = null;

  constructor(clock: Clock) {
    this.#context = { clock, budget: new TurnBudget(answersPerTurnMax), ended: () => undefined };
  }

  /** The front end's handler of every request. */
  readonly handle: HttpHandler = (response, request) => {
    if (this.#handler !== null) this.#handler(response, request);
    else if (this.#held.size >= heldRequestsMax || this.#bytes + headBytes > heldBytesMax)
      this.#refuse(response, request);
    else this.#hold(new HeldRequest(response, request));
  };

  /** Held requests are handled at once, one with a body that is still coming when it is whole, and later ones as they come. */
  release(handler: HttpHandler): void {
    this.#handler = handler;
    for (const held of this.#held) if (held.isWhole) this.#pass(held, handler);
  }

  #hold(held: HeldRequest): void {
    this.#held.add(held);
    this.#bytes += headBytes;
    held.read({
      grown: (bytes) => {
        this.#bytes += bytes;
        return this.#bytes <= heldBytesMax;
      },
      whole: () => {
        if (this.#handler !== null) this.#pass(held, this.#handler);
      },
      gone: () => this.#forget(held),
    });
  }

  #pass(held: HeldRequest, handler: HttpHandler): void {
    this.#forget(held);
    held.pass(handler);
  }

  #forget(held: HeldRequest): void {
    if (this.#held.delete(held)) this.#bytes -= headBytes + held.bytes;
  }

  #refuse(response: HttpResponse, incoming: HttpRequest): void {
    const request = new ApiRequest(response, incoming, this.#context);
    request.identify(false);
    const message = 'too many requests wait for the new release';
    const body = encodeEnvelope('plain', 50301, message, request.requestId.id, null);
    request.answer({ status: 503, body, retryAfterS: 1, closeConnection: true });
  }
}

interface Reading {
  /** False: there is no room for the rest of the body. */
  grown(bytes: number): boolean;
  whole(): void;
  gone(): void;
}

/** A request as it came, and its open response. */
class HeldRequest {
  bytes = 0;
  isWhole = false;
  readonly #response: HttpResponse;
  readonly #request: HttpRequest;
  readonly #hasBody: boolean;
  readonly #chunks: Buffer[] = [];

  constructor(response: HttpResponse, request: HttpRequest) {
    const method = request.getCaseSensitiveMethod();
    const url = request.getUrl();
    const query = request.getQuery();
    const headers: [name: string, value: string][] = [];
    request.forEach((name, value) => headers.push([name, value]));
    this.#response = response;
    // The library's own is gone when its handler returns.
    this.#request = {
      getCaseSensitiveMethod: () => method,
      getUrl: () => url,
      getQuery: () => query,
      forEach: (each) => headers.forEach(([name, value]) => each(name, value)),
    };
    const length = Number(headers.find(([name]) => name === 'content-length')?.[1] ?? 0);
    // Any other is refused by its headers.
    this.#hasBody = length > 0 && length <= bodyBytesMax;
  }

  /** The connection of a body without room is closed. */
  read(reading: Reading): void {
    const response = this.#response;
    response.onAborted(() => reading.gone());
    this.isWhole = !this.#hasBody;
    if (this.isWhole) return;
    let isRead = false;
    response.onData((chunk, isLast) => {
      if (isRead) return;
      this.bytes += chunk.byteLength;
      isRead = isLast;
      if (!reading.grown(chunk.byteLength)) {
        isRead = true;
        reading.gone();
        response.close();
        return;
      }
      // A chunk is valid during the call only.
      this.#chunks.push(Buffer.from(new Uint8Array(chunk)));
      if (!isLast) return;
      this.isWhole = true;
      reading.whole();
    });
  }

  /** The handler finds the body in the response, as if it came now. */
  pass(handler: HttpHandler): void {
    const body = new Uint8Array(Buffer.concat(this.#chunks));
    const response = this.#response;
    response.onData = (listener) => listener(body.buffer, true);
    response.cork(() => handler(response, this.#request));
  }
}
