/**
 * Sends one call in as many attempts as its policy allows: each is signed anew, with this machine’s time corrected by the
 * time that the server named when it refused ours. A caller may also sign and send a raw request of any path.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import type { FailureCode } from '../model/codes.ts';
import { generateRequestId } from '../model/ids.ts';
import { signRequest, type SigningCredential } from '../protocol/tgv1/sign-request.ts';
import { decodeResult, retryAfterOf, type ApiResult } from './answers.ts';
import { ReveilleProtocolError, ReveilleUnreachableError } from './client-errors.ts';
import type { Attempt, RequestKind, RetryPolicy } from './client-options.ts';
import type { Transport, WireReply } from './http-transport.ts';
import { decodeJsonObject } from '../lib/utf8.ts';
import type { HeaderSet } from '../protocol/tgv1/signing-headers.ts';
import { serverTimeOf } from '../protocol/tgv1/auth-failure.ts';

export interface RawRequest {
  /** In upper case. */
  readonly method: string;
  /** As it is signed and sent: percent-encoded. */
  readonly path: string;
  /** Without its question mark; none when left out. */
  readonly rawQuery?: string | undefined;
  readonly body?: Uint8Array | null | undefined;
  /** Of a body; application/json when left out. */
  readonly contentType?: string | undefined;
  /** Which headers are signed; `long` when left out. */
  readonly headerSet?: HeaderSet | undefined;
  /** Sent and not signed. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body; null when it is no JSON object. */
  readonly json: { readonly [key: string]: unknown } | null;
}

export function rawAnswerOf({ status, headers, body }: WireReply): RawAnswer {
  const json = decodeJsonObject(body);
  return { status, headers, text: Buffer.from(body).toString(), json: json.ok ? json.value : null };
}

export interface ApiRequest {
  readonly kind: RequestKind;
  /** Left out: GET without a body, POST with one. */
  readonly method?: 'PATCH' | 'DELETE';
  readonly path: string;
  /** Without its question mark; '' for none. */
  readonly rawQuery: string;
  /** Null: none. */
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
    const signing = new Signing(this.#deps.serverClock);
    for (let attempts = 1; ; attempts += 1) {
      const attempt = await this.#attempt(request, signing, signal);
      const delayMs = retries.delayMs(request.kind, attempts, attempt);
      if (delayMs === null) {
        if (attempt.kind === 'answered') return attempt.result;
        throw attempt.error;
      }
      await pause(clock, delayMs, signal);
      // A repeated signature wakes or changes at most once; other requests are signed for the moment they are sent.
      if (request.kind !== 'wakeup' && request.kind !== 'provisioning') signing.renew();
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

  async #attempt(request: ApiRequest, signing: Signing, signal: AbortSignal): Promise<Attempt> {
    try {
      return { kind: 'answered', result: await this.#askInTime(request, signing, signal) };
    } catch (error) {
      if (error instanceof ReveilleUnreachableError) return { kind: 'unanswered', error };
      if (error instanceof ReveilleProtocolError && error.isOfGateway) return { kind: 'unanswered', error };
      throw error;
    }
  }

  /** Asks once more when the server has refused our time and said its own. */
  async #askInTime(
    request: ApiRequest,
    signing: Signing,
    signal: AbortSignal,
  ): Promise<ApiResult<unknown, FailureCode>> {
    const result = await this.#ask(request, signing, signal);
    if (!this.#deps.serverClock.learn(result)) return result;
    signing.renew();
    return this.#ask(request, signing, signal);
  }

  async #ask(
    request: ApiRequest,
    signing: Signing,
    signal: AbortSignal,
  ): Promise<ApiResult<unknown, FailureCode>> {
    const { path, rawQuery, waitMs, timeoutMs } = request;
    const { method = request.body === null ? 'GET' : 'POST' } = request;
    const body = request.body === null ? null : Buffer.from(JSON.stringify(request.body));
    const reply = await this.#deps.transport.send({
      method,
      target: targetOf(path, rawQuery),
      headers: this.#headers(request, signing, method, body),
      body,
      deadlineMs: waitMs + timeoutMs,
      isLongPoll: waitMs > 0,
      signal,
    });
    return decodeResult(reply) ?? this.#misunderstand(reply);
  }

  #headers(
    request: ApiRequest,
    { atMs, nonce }: Signing,
    method: string,
    body: Buffer | null,
  ): Record<string, string> {
    const { credential } = this.#deps;
    const { path, rawQuery, requestId } = request;
    const headers = signRequest({
      credential,
      method,
      path,
      rawQuery,
      body,
      headerSet: 'long',
      atMs,
      // Two calls of one second that say the same would have one signature, and the second be a repeat of the first.
      furtherHeaders: method === 'GET' ? {} : { 'x-tg-nonce': nonce },
    });
    // Not signed: what stands between may write its own.
    if (requestId !== null) headers['X-Request-ID'] = requestId;
    return headers;
  }

  #misunderstand(reply: WireReply): never {
    const { status, headers } = reply;
    const found = `no envelope in ${reply.body.length} bytes of ${headers['content-type'] ?? 'no type'}`;
    throw new ReveilleProtocolError(this.#deps.origin, status, found, retryAfterOf(reply));
  }
}

/** The time and the nonce that a request is signed with: the same of both make the same signature. */
class Signing {
  atMs: number;
  nonce: string;
  readonly #serverClock: ServerClock;

  constructor(serverClock: ServerClock) {
    this.#serverClock = serverClock;
    this.atMs = serverClock.wallMs();
    this.nonce = generateRequestId();
  }

  renew(): void {
    this.atMs = this.#serverClock.wallMs();
    this.nonce = generateRequestId();
  }
}

/** A raw query; what is undefined is left out. */
export function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&');
}

function targetOf(path: string, rawQuery: string): string {
  return rawQuery === '' ? path : `${path}?${rawQuery}`;
}

/** An answer that claims more is not believed: nobody gets a signature of ours for a day that is far away. */
const skewMsMax = 24 * 3600 * 1000;

export class ServerClock {
  readonly #clock: Clock;
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.#aheadMs;
  }

  /** How far the server's clock is ahead of ours, as far as we know: 0 until it said so. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** True when the answer refuses our time and says its own: the same may be signed again. */
  learn(result: ApiResult<unknown, FailureCode>): boolean {
    if (result.ok || result.code !== 40105) return false;
    const serverMs = serverTimeOf(result.message);
    if (serverMs === null) return false;
    const aheadMs = serverMs - this.#clock.wallMs();
    if (Math.abs(aheadMs) > skewMsMax) return false;
    this.#aheadMs = aheadMs;
    return true;
  }
}

/** Resolves after `ms` of monotonic time; rejects with the reason of the signal as soon as that is aborted. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
