/**
 * Sends a call, with the retries of its policy. Each attempt is signed with the local time, corrected by the server's time
 * after a clock-skew refusal. Raw requests of any path are signed and sent once.
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
  readonly method: string;
  /** Percent-encoded, as signed and sent. */
  readonly path: string;
  /** Without the question mark. Default: none. */
  readonly rawQuery?: string | undefined;
  readonly body?: Uint8Array | null | undefined;
  /** Content type of the body. Default: application/json. */
  readonly contentType?: string | undefined;
  /** The set of signed headers. Default: `long`. */
  readonly headerSet?: HeaderSet | undefined;
  /** Sent, but not signed. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body; null: not a JSON object. */
  readonly json: { readonly [key: string]: unknown } | null;
}

export function rawAnswerOf({ status, headers, body }: WireReply): RawAnswer {
  const json = decodeJsonObject(body);
  return { status, headers, text: Buffer.from(body).toString(), json: json.ok ? json.value : null };
}

export interface ApiRequest {
  readonly kind: RequestKind;
  /** Default: GET without a body, POST with one. */
  readonly method?: 'PATCH' | 'DELETE';
  readonly path: string;
  /** Without the question mark; empty: none. */
  readonly rawQuery: string;
  readonly body: object | null;
  /** X-Request-ID; null: the server generates one. */
  readonly requestId: string | null;
  /** Long poll: time that the server may wait; 0: it answers at once. */
  readonly waitMs: number;
  /** Per attempt, in addition to `waitMs`. */
  readonly timeoutMs: number;
}

export interface SenderDeps {
  readonly origin: string;
  readonly credential: SigningCredential;
  readonly clock: Clock;
  readonly random: () => number;
  readonly retry: RetrySettings;
  readonly transport: Transport;
}

/** The inputs of a signature that change with time; equal inputs give equal signatures. */
interface Signing {
  readonly atMs: number;
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
   * Resolves with the response to the last attempt. Rejects with a ReveilleUnreachableError or a ReveilleProtocolError if it
   * had none, and with the signal's reason if aborted.
   */
  async send(request: ApiRequest, signal: AbortSignal): Promise<ApiResult<unknown, FailureCode>> {
    const { clock, random, retry } = this.#deps;
    let signing = this.#newSigning(request);
    for (let attempts = 1; ; attempts += 1) {
      let attempt = await this.#attempt(request, signing, signal);
      // Clock skew: the server has refused our time and named its own.
      if (!(attempt instanceof Error) && this.#serverClock.correct(attempt)) {
        signing = this.#newSigning(request);
        attempt = await this.#attempt(request, signing, signal);
      }
      const delayMs = retryDelayMs(retry, request.kind, attempts, attempt, random());
      if (delayMs === null) {
        if (attempt instanceof Error) throw attempt;
        return attempt;
      }
      await pause(clock, delayMs, signal);
      // The server deduplicates wakeups and changes by signature; other requests get a current timestamp.
      if (request.kind !== 'wakeup' && request.kind !== 'provisioning') signing = this.#newSigning(request);
    }
  }

  /** Sends one attempt and returns the response unparsed. Rejects as `send` does. */
  sendOnce(request: RawRequest, deadlineMs: number, signal: AbortSignal): Promise<WireReply> {
    const signing = { atMs: this.#serverClock.wallMs(), nonce: null };
    return this.#exchange(request, signing, { deadlineMs, isLongPoll: false, signal });
  }

  /** The nonce distinguishes equal calls of the same second, which would otherwise count as repeats. */
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

/** Encodes a raw query, without undefined parameters. */
export function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(parameters)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&');
}

/** Maximum accepted skew: a forged response cannot obtain signatures for a distant date. */
const skewMsMax = 24 * 3600 * 1000;

class ServerClock {
  readonly #clock: Clock;
  /** The server's lead over the local clock; 0 until a response names the server's time. */
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wallMs(): number {
    return this.#clock.wallMs() + this.#aheadMs;
  }

  /** Adopts the server's time from a clock-skew refusal. True: sign and send again. */
  correct(result: ApiResult<unknown, FailureCode>): boolean {
    if (result.ok || result.code !== 40105) return false;
    const serverMs = serverTimeOf(result.message);
    if (serverMs === null) return false;
    const aheadMs = serverMs - this.#clock.wallMs();
    if (Math.abs(aheadMs) > skewMsMax) return false;
    this.#aheadMs = aheadMs;
    return true;
  }
}
