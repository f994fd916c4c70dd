/**
 * Sends one call in as many attempts as its policy allows: each is signed anew, with this machine’s time corrected by the
 * time that the server named when it refused ours. A caller may also sign and send a raw request of any path.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { pause, type Clock } from '../lib/clock.ts';
import type { FailureCode } from '../model/codes.ts';
import { generateRequestId } from '../model/ids.ts';
import { signRequest, type SigningCredential } from '../protocol/tgv1/sign-request.ts';
import { decodeResult, retryAfterOf, type ApiResult } from './answers.ts';
import { ReveilleProtocolError, ReveilleUnreachableError } from './client-errors.ts';
import { retryDelayMs, type Attempt, type RequestKind, type RetrySettings } from './client-options.ts';
import type { Transport, WireReply, WireRequest } from './http-transport.ts';
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
  /** Draws from 0 to 1. */
  readonly random: () => number;
  readonly retry: RetrySettings;
  readonly transport: Transport;
}

/** The same of both make the same signature. */
interface Signing {
  readonly atMs: number;
  /** Null: none. */
  readonly nonce: string | null;
}

export class RequestSender {
  readonly #deps: SenderDeps;
  readonly #serverClock: ServerClock;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
    this.#serverClock = new ServerClock(deps.clock);
  }

  /**
   * The answer to the last attempt. Rejects with a ReveilleUnreachableError or a ReveilleProtocolError when that had
   * none, and with the reason of the signal when that is aborted.
   */
  async send(request: ApiRequest, signal: AbortSignal): Promise<ApiResult<unknown, FailureCode>> {
    const { clock, random, retry } = this.#deps;
    let signing = this.#newSigning(request);
    for (let attempts = 1; ; attempts += 1) {
      let attempt = await this.#attempt(request, signing, signal);
      // The server has refused our time and said its own.
      if (!(attempt instanceof Error) && this.#serverClock.learn(attempt)) {
        signing = this.#newSigning(request);
        attempt = await this.#attempt(request, signing, signal);
      }
      const delayMs = retryDelayMs(retry, request.kind, attempts, attempt, random());
      if (delayMs === null) {
        if (attempt instanceof Error) throw attempt;
        return attempt;
      }
      await pause(clock, delayMs, signal);
      // A repeated signature wakes or changes at most once; other requests are signed for the moment they are sent.
      if (request.kind !== 'wakeup' && request.kind !== 'provisioning') signing = this.#newSigning(request);
    }
  }

  /** Whatever comes back, after one attempt as it is. Rejects as `send` does. */
  sendOnce(request: RawRequest, deadlineMs: number, signal: AbortSignal): Promise<WireReply> {
    const signing = { atMs: this.#serverClock.wallMs(), nonce: null };
    return this.#exchange(request, signing, { deadlineMs, isLongPoll: false, signal });
  }

  /** Two calls of one second that say the same would have one signature, and the second be a repeat of the first. */
  #newSigning({ method, body }: ApiRequest): Signing {
    const isGet = method === undefined && body === null;
    return { atMs: this.#serverClock.wallMs(), nonce: isGet ? null : generateRequestId() };
  }

  async #attempt(request: ApiRequest, signing: Signing, signal: AbortSignal): Promise<Attempt> {
    try {
      return await this.#ask(request, signing, signal);
    } catch (error) {
      if (error instanceof ReveilleUnreachableError) return error;
      if (error instanceof ReveilleProtocolError && error.isOfGateway) return error;
      throw error;
    }
  }

  async #ask(
    request: ApiRequest,
    signing: Signing,
    signal: AbortSignal,
  ): Promise<ApiResult<unknown, FailureCode>> {
    const { path, rawQuery, requestId, waitMs, timeoutMs } = request;
    const { method = request.body === null ? 'GET' : 'POST' } = request;
    const body = request.body === null ? null : Buffer.from(JSON.stringify(request.body));
    const headers: Record<string, string> = requestId === null ? {} : { 'X-Request-ID': requestId };
    const reply = await this.#exchange({ method, path, rawQuery, body, headers }, signing, {
      deadlineMs: waitMs + timeoutMs,
      isLongPoll: waitMs > 0,
      signal,
    });
    return decodeResult(reply) ?? this.#misunderstand(reply);
  }

  #exchange(
    { method, path, rawQuery = '', body = null, headerSet = 'long', contentType, headers }: RawRequest,
    { atMs, nonce }: Signing,
    sending: Pick<WireRequest, 'deadlineMs' | 'isLongPoll' | 'signal'>,
  ): Promise<WireReply> {
    const { credential, transport } = this.#deps;
    const furtherHeaders: Record<string, string> = nonce === null ? {} : { 'x-tg-nonce': nonce };
    const signed = { credential, method, path, rawQuery, body, headerSet, atMs, contentType, furtherHeaders };
    return transport.send({
      method,
      target: rawQuery === '' ? path : `${path}?${rawQuery}`,
      headers: { ...signRequest(signed), ...headers },
      body,
      ...sending,
    });
  }

  #misunderstand(reply: WireReply): never {
    const { status, headers } = reply;
    const found = `no envelope in ${reply.body.length} bytes of ${headers['content-type'] ?? 'no type'}`;
    throw new ReveilleProtocolError(this.#deps.origin, status, found, retryAfterOf(reply));
  }
}

/** A raw query; what is undefined is left out. */
export function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&');
}

/** An answer that claims more is not believed: nobody gets a signature of ours for a day that is far away. */
const skewMsMax = 24 * 3600 * 1000;

class ServerClock {
  readonly #clock: Clock;
  /** Its lead over ours, as far as we know: 0 until it said so. */
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.#aheadMs;
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
