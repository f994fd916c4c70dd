/** One call, in as many attempts as its rule allows: each is signed anew, and a clock that is off is corrected once. */
import type { Clock } from '../lib/clock.ts';
import type { FailureCode } from '../model/codes.ts';
import { generateRequestId } from '../model/ids.ts';
import { signRequest, type SigningCredential } from '../protocol/tgv1/sign-request.ts';
import { decodeResult, retryAfterOf, type ApiResult } from './api-result.ts';
import { ReveilleProtocolError, ReveilleUnreachableError } from './client-errors.ts';
import { pause } from './pause.ts';
import type { RawRequest } from './raw-request.ts';
import type { Attempt, RequestKind, RetryPolicy } from './retry-policy.ts';
import type { ServerClock } from './server-clock.ts';
import type { Transport, WireReply } from './transport.ts';

export interface ApiRequest {
  readonly kind: RequestKind;
  readonly path: string;
  /** Without its question mark; '' for none. */
  readonly rawQuery: string;
  /** Of everything but a query. */
  readonly body: object | null;
  /** X-Request-ID; null: the server makes one. */
  readonly requestId: string | null;
  /** How long the server may wait before it answers; 0: not at all. */
  readonly waitMs: number;
  /** For each attempt, beside that wait. */
  readonly timeoutMs: number;
}

export interface SenderDeps {
  readonly origin: string;
  readonly credential: SigningCredential;
  readonly clock: Clock;
  readonly serverClock: ServerClock;
  readonly retries: RetryPolicy;
  readonly transport: Transport;
}

export class RequestSender {
  readonly #deps: SenderDeps;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /**
   * The answer to the last attempt. Rejects with a ReveilleUnreachableError or a ReveilleProtocolError when that had
   * none, and with the reason of the signal when that is aborted.
   */
  async send(request: ApiRequest, signal: AbortSignal): Promise<ApiResult<unknown, FailureCode>> {
    const { clock, retries } = this.#deps;
    for (let attempts = 1; ; attempts += 1) {
      const attempt = await this.#attempt(request, signal);
      const delayMs = retries.delayMs(request.kind, attempts, attempt);
      if (delayMs !== null) await pause(clock, delayMs, signal);
      else if (attempt.kind === 'answered') return attempt.result;
      else throw attempt.error;
    }
  }

  /** Whatever comes back, after one attempt as it is. Rejects as `send` does. */
  sendOnce(request: RawRequest, timeoutMs: number, signal: AbortSignal): Promise<WireReply> {
    const { credential, serverClock, transport } = this.#deps;
    const { method, path, rawQuery = '', body = null, headerSet = 'long', contentType, headers } = request;
    const given = { credential, method, path, rawQuery, body, headerSet, atMs: serverClock.wallMs() };
    const signed = signRequest(contentType === undefined ? given : { ...given, contentType });
    return transport.send({
      method,
      target: targetOf(path, rawQuery),
      headers: { ...signed, ...headers },
      body,
      deadlineMs: timeoutMs,
      isLongPoll: false,
      signal,
    });
  }

  async #attempt(request: ApiRequest, signal: AbortSignal): Promise<Attempt> {
    try {
      return { kind: 'answered', result: await this.#askInTime(request, signal) };
    } catch (error) {
      if (error instanceof ReveilleUnreachableError) return { kind: 'unanswered', error };
      if (error instanceof ReveilleProtocolError && error.isOfGateway) return { kind: 'unanswered', error };
      throw error;
    }
  }

  /** Asks once more when the server has refused our time and said its own. */
  async #askInTime(request: ApiRequest, signal: AbortSignal): Promise<ApiResult<unknown, FailureCode>> {
    const result = await this.#ask(request, signal);
    return this.#deps.serverClock.learn(result) ? this.#ask(request, signal) : result;
  }

  async #ask(request: ApiRequest, signal: AbortSignal): Promise<ApiResult<unknown, FailureCode>> {
    const { path, rawQuery, waitMs, timeoutMs } = request;
    const method = request.body === null ? 'GET' : 'POST';
    const body = request.body === null ? null : Buffer.from(JSON.stringify(request.body));
    const reply = await this.#deps.transport.send({
      method,
      target: targetOf(path, rawQuery),
      headers: this.#headers(request, method, body),
      body,
      deadlineMs: waitMs + timeoutMs,
      isLongPoll: waitMs > 0,
      signal,
    });
    return decodeResult(reply) ?? this.#misunderstand(reply);
  }

  #headers(request: ApiRequest, method: string, body: Buffer | null): Record<string, string> {
    const { credential, serverClock } = this.#deps;
    const { path, rawQuery, requestId } = request;
    const headers = signRequest({
      credential,
      method,
      path,
      rawQuery,
      body,
      headerSet: 'long',
      atMs: serverClock.wallMs(),
      // Two calls of one second that say the same would have one signature, and the second be a repeat of the first.
      furtherHeaders: method === 'POST' ? { 'x-tg-nonce': generateRequestId() } : {},
    });
    // Not signed: what stands between may write its own. Then a repeat is a wakeup of its own, and does no harm.
    if (requestId !== null) headers['X-Request-ID'] = requestId;
    return headers;
  }

  #misunderstand(reply: WireReply): never {
    const { status, headers } = reply;
    const found = `no envelope in ${reply.body.length} bytes of ${headers['content-type'] ?? 'no type'}`;
    throw new ReveilleProtocolError(this.#deps.origin, status, found, retryAfterOf(reply));
  }
}

function targetOf(path: string, rawQuery: string): string {
  return rawQuery === '' ? path : `${path}?${rawQuery}`;
}
