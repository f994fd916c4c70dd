/**
 * One request's answer. A response of the front end must not be touched after an abort and is answered once; this
 * is the only place that touches it.
 */
import { assert } from '../../lib/assert.ts';
import { remoteAddress } from '../../lib/http-connections.ts';
import type { TurnBudget } from '../../lib/turn-budget.ts';
import type { HttpResponse } from '../../lib/uws.ts';
import type { RequestId } from '../../model/ids.ts';

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

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly requestId: RequestId;
  /** Methods the path knows, for a 405. */
  readonly allow?: string | undefined;
  readonly retryAfterS?: number | undefined;
  /** Ends the connection after the answer: draining, or a body nobody will read. */
  readonly closeConnection: boolean;
  /** To a HEAD: the front end would send a body, and the client take it for the next answer. */
  readonly withoutBody: boolean;
}

export class Exchange {
  readonly #response: HttpResponse;
  readonly #budget: TurnBudget;
  readonly #ended: () => void;
  #open = true;
  #detached = false;
  #gone = false;
  #goneListener: (() => void) | null = null;

  /** `budget`: answers within one turn. `ended` is called once: answered, aborted by the peer or given up. */
  constructor(response: HttpResponse, budget: TurnBudget, ended: () => void) {
    this.#response = response;
    this.#budget = budget;
    this.#ended = ended;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Call before the front end's handler returns without an answer. */
  detach(): void {
    if (this.#detached) return;
    this.#detached = true;
    this.#response.onAborted(() => this.#hangUp());
  }

  /** At most one listener: called once if the peer hangs up before the answer, at once if that has happened. */
  onGone(listener: () => void): void {
    assert(this.#goneListener === null, 'one listener learns that the peer has gone');
    if (this.#gone) listener();
    else if (this.#open) this.#goneListener = listener;
  }

  /**
   * Does nothing when the peer has gone. In the front end's own handler, an answer that ends the connection and one beyond
   * the budget come in the next turn: to who sends another request before its answer the library closes the connection,
   * so that nothing behind the answer is read, and one peer does not hold the loop.
   */
  answer(answer: Answer): void {
    if (!this.#open) return;
    if (!this.#detached && (answer.closeConnection || !this.#budget.take())) {
      this.detach();
      setImmediate(() => this.answer(answer));
      return;
    }
    this.#end();
    // Within the front end's own handler the response is corked already.
    if (this.#detached) this.#response.cork(() => this.#write(answer));
    else this.#write(answer);
  }

  /** Of the peer; while the exchange is open. */
  remoteAddress(): string {
    return remoteAddress(this.#response);
  }

  /** Gives the connection up without an answer. */
  abandon(): void {
    if (!this.#open) return;
    this.#end();
    this.#response.close();
  }

  /** Each chunk is valid during the call only. */
  onBody(take: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#response.onData((chunk, isLast) => {
      if (this.#open) take(chunk, isLast);
    });
  }

  #hangUp(): void {
    if (!this.#open) return;
    this.#gone = true;
    const listener = this.#goneListener;
    this.#end();
    listener?.();
  }

  #end(): void {
    this.#open = false;
    this.#goneListener = null;
    this.#ended();
  }

  #write(answer: Answer): void {
    const response = this.#response;
    // 200 is what the front end writes unasked.
    if (answer.status !== 200) response.writeStatus(statusLines[answer.status] ?? `${answer.status}`);
    response.writeHeader('Content-Type', 'application/json; charset=utf-8');
    response.writeHeader('X-Tg-Request-Id', answer.requestId);
    if (answer.allow !== undefined) response.writeHeader('Allow', answer.allow);
    if (answer.retryAfterS !== undefined) response.writeHeader('Retry-After', `${answer.retryAfterS}`);
    response.end(answer.withoutBody ? '' : answer.body, answer.closeConnection);
  }
}
