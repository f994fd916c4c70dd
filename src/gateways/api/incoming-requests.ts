/**
 * The unanswered requests of the API's port. They queue until a server handles them: a successor listens while its predecessor
 * closes the store. Source: scale-out.md, Edges.
 */
import type { Clock } from '../../lib/clock.ts';
import { TurnBudget } from '../../lib/token-bucket.ts';
import type { HttpHandler } from '../../lib/uws.ts';
import { answersPerTurnMax, bodyBytesMax, heldBytesMax, heldRequestsMax } from '../../model/limits.ts';
import { encodeEnvelope } from '../../protocol/rest/shared-fields.ts';
import { ApiRequest, type RequestContext } from './api-request.ts';

/** Charged for the head of a queued request, in addition to its body; the library limits the real size. */
const headBytes = 4096;

interface Held {
  readonly bytes: number;
  isWhole: boolean;
}

export class IncomingRequests {
  readonly #context: RequestContext;
  readonly #held = new Map<ApiRequest, Held>();
  #heldBytes = 0;
  #underWay = 0;
  /** Null: requests are queued. */
  #handler: ((request: ApiRequest) => void) | null = null;
  #idle: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#context = {
      clock,
      budget: new TurnBudget(answersPerTurnMax),
      ended: (request) => this.#ended(request),
    };
  }

  readonly handle: HttpHandler = (response, incoming) => {
    this.#underWay += 1;
    const request = new ApiRequest(response, incoming, this.#context);
    if (this.#handler === null) this.#enqueue(request);
    else this.#handler(request);
  };

  /** Handles queued requests at once, or when their body is complete, and all later ones on arrival. */
  serve(handler: (request: ApiRequest) => void): void {
    this.#handler = handler;
    for (const [request, { isWhole }] of this.#held) if (isWhole) this.#pass(request, handler);
  }

  async idle(): Promise<void> {
    while (this.#underWay > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  #enqueue(request: ApiRequest): void {
    // A body that the headers rule out is refused without being read.
    const isRead = request.framingFault === null && request.bodyBytes <= bodyBytesMax;
    const bodyBytes = isRead ? request.bodyBytes : 0;
    const held: Held = { bytes: headBytes + bodyBytes, isWhole: bodyBytes === 0 };
    if (this.#held.size >= heldRequestsMax || this.#heldBytes + held.bytes > heldBytesMax)
      return this.#refuse(request);
    this.#held.set(request, held);
    this.#heldBytes += held.bytes;
    request.detach();
    if (held.isWhole) return;
    request.readBody(bodyBytesMax, (result) => {
      held.isWhole = result === 'read';
      if (held.isWhole && this.#handler !== null) this.#pass(request, this.#handler);
    });
  }

  #pass(request: ApiRequest, handler: (request: ApiRequest) => void): void {
    this.#forget(request);
    handler(request);
  }

  #forget(request: ApiRequest): void {
    this.#heldBytes -= this.#held.get(request)?.bytes ?? 0;
    this.#held.delete(request);
  }

  #ended(request: ApiRequest): void {
    this.#forget(request);
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#idle?.();
  }

  #refuse(request: ApiRequest): void {
    request.identify(false);
    const message = 'too many requests are waiting for the new release';
    const body = encodeEnvelope('plain', 50301, message, request.requestId.id, null);
    request.answer({ status: 503, body, retryAfterS: 1, closeConnection: true });
  }
}
