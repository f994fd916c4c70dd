/**
 * Sends each attempt as a signed POST under one deadline. The response body is read, so that the connection can be reused, and
 * discarded. Redirects are not followed. Source: events.md, Webhooks.
 */
import { createHmac } from 'node:crypto';
import {
  Agent as HttpAgent,
  request as requestHttp,
  type RequestOptions,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import type { Clock } from '../../lib/clock.ts';
import { unknownAuthorityCodes } from '../../lib/connections/certificate-errors.ts';
import type { Webhook } from '../../model/registry.ts';
import type { WebhookAnswer, WebhookMessage, WebhookSender } from '../../core/ports/webhook-sender.ts';
import { checkedLookup, type NameResolver, keptConnections, refuseAddress } from './checked-connections.ts';
import { reasonCharactersMax, answerBytesMax } from '../delivery/limits.ts';

export interface HttpSenderDeps {
  readonly clock: Clock;
  readonly resolver: NameResolver;
  /** Allows special addresses (`webhooks.allow_local`). */
  readonly allowLocal: boolean;
  readonly userAgent: string;
  /** Maximum milliseconds of one attempt, including DNS and the response body. */
  readonly attemptMsMax: number;
}

/** The prepared request of a webhook. */
interface Receiver {
  readonly request: typeof requestHttp;
  readonly options: RequestOptions;
  /** Headers of every attempt: names and values in turn. */
  readonly headers: readonly string[];
  readonly key: Buffer;
}

/** As Standard Webhooks defines it. */
const secretForm = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

export class HttpSender implements WebhookSender {
  readonly #deps: HttpSenderDeps;
  readonly #lookup: LookupFunction;
  readonly #http: HttpAgent;
  readonly #https: HttpAgent;
  /** By registry entry, which is a new object after any change; an Error: why nothing can be sent. */
  readonly #receivers = new WeakMap<Webhook, Receiver | Error>();
  readonly #underWay = new Set<HttpAttempt>();

  constructor(deps: HttpSenderDeps) {
    const { resolver, allowLocal } = deps;
    this.#deps = deps;
    this.#lookup = checkedLookup(resolver, allowLocal);
    this.#http = keptConnections(HttpAgent, allowLocal);
    this.#https = keptConnections(HttpsAgent, allowLocal);
  }

  async send(webhook: Webhook, message: WebhookMessage): Promise<WebhookAnswer> {
    const receiver = this.#receiverOf(webhook);
    if (receiver instanceof Error) return failed(receiver.message);
    const startedMs = this.#deps.clock.monotonicMs();
    try {
      const end = await this.#attempt(receiver, message, startedMs);
      // The receiver closed an idle connection: send again, without counting a failed attempt.
      const isStale = end.kind === 'broken' && end.isStale;
      return answerOf(isStale ? await this.#attempt(receiver, message, startedMs) : end);
    } catch (error) {
      return failed(describeTransportError(error as Error));
    }
  }

  close(): void {
    for (const attempt of this.#underWay) attempt.abort('the server stops');
    this.#http.destroy();
    this.#https.destroy();
  }

  async #attempt(receiver: Receiver, message: WebhookMessage, startedMs: number): Promise<AttemptEnd> {
    const { clock, attemptMsMax } = this.#deps;
    const { request, options, key } = receiver;
    // node:http neither stores nor looks up headers of an array, and sends them with a body of text in one write.
    const headers = [...receiver.headers, ...headersOf(message, key, clock.wallMs())];
    const attempt = new HttpAttempt(request({ ...options, headers }), message.body);
    const leftMs = startedMs + attemptMsMax - clock.monotonicMs();
    const cancel = clock.after(leftMs, () => attempt.abort(`no answer within ${attemptMsMax / 1000} s`));
    this.#underWay.add(attempt);
    const end = await attempt.ended;
    this.#underWay.delete(attempt);
    cancel();
    return end;
  }

  #receiverOf(webhook: Webhook): Receiver | Error {
    const known = this.#receivers.get(webhook);
    if (known !== undefined) return known;
    const receiver = this.#prepare(webhook);
    this.#receivers.set(webhook, receiver);
    return receiver;
  }

  #prepare(webhook: Webhook): Receiver | Error {
    const url = new URL(webhook.url);
    const { hostname, port, path, auth } = urlToHttpOptions(url);
    const isPlain = url.protocol === 'http:';
    if (!isPlain && url.protocol !== 'https:') return new Error('unsupported URL: use http or https');
    // An IP address is not looked up, so check it here.
    const refusal = isIP(hostname ?? '') === 0 ? null : refuseAddress(hostname ?? '', this.#deps.allowLocal);
    if (refusal !== null) return new Error(refusal);
    const secret = secretForm.exec(webhook.secret)?.[1];
    if (secret === undefined)
      return new Error('cannot sign: the webhook secret is not whsec_ followed by Base64');
    const { userAgent } = this.#deps;
    const headers = ['host', url.host, 'content-type', 'application/json', 'user-agent', userAgent];
    if (auth) headers.push('authorization', `Basic ${Buffer.from(auth).toString('base64')}`);
    return {
      request: isPlain ? requestHttp : requestHttps,
      options: {
        method: 'POST',
        hostname,
        port,
        path,
        agent: isPlain ? this.#http : this.#https,
        lookup: this.#lookup,
        ...(isPlain ? {} : { rejectUnauthorized: true }),
      },
      headers,
      key: Buffer.from(secret, 'base64'),
    };
  }
}

function answerOf(end: AttemptEnd): WebhookAnswer {
  if (end.kind === 'broken') return failed(end.reason);
  const { status } = end;
  if (status >= 200 && status <= 299) return { kind: 'delivered', status };
  if (status === 410) return { kind: 'gone', status, reason: 'answered 410' };
  const redirect = status >= 300 && status <= 399 ? '; redirects are not followed' : '';
  return { kind: 'failed', status, reason: `answered ${status}${redirect}` };
}

function failed(reason: string): WebhookAnswer {
  return { kind: 'failed', status: null, reason: reason.slice(0, reasonCharactersMax) };
}

/** `wallMs`: time of this attempt; receivers compare it with their clocks. */
function headersOf({ id, body }: WebhookMessage, key: Buffer, wallMs: number): string[] {
  const timestamp = String(Math.floor(wallMs / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const length = String(Buffer.byteLength(body));
  const signed = ['webhook-id', id, 'webhook-timestamp', timestamp, 'webhook-signature', `v1,${signature}`];
  return ['content-length', length, ...signed];
}

type AttemptEnd =
  | { readonly kind: 'answered'; readonly status: number }
  /** `isStale`: the receiver had closed the reused connection before the request arrived. */
  | { readonly kind: 'broken'; readonly reason: string; readonly isStale: boolean };

class HttpAttempt {
  /** Never rejects. */
  readonly ended: Promise<AttemptEnd>;
  readonly #request: ClientRequest;
  #brokeOff = 'the connection was closed without an answer';
  #resolve: (end: AttemptEnd) => void = () => undefined;

  /** Sends `request`. */
  constructor(request: ClientRequest, body: string) {
    this.#request = request;
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    request.on('response', (response) => this.#read(response));
    request.on('error', (error: NodeJS.ErrnoException) =>
      this.#break(describeTransportError(error), isReset(error)),
    );
    // Also when the receiver switches protocols.
    request.on('close', () => this.#break(this.#brokeOff, false));
    request.end(body);
  }

  /** Ends the attempt at once; does nothing if it has ended. */
  abort(reason: string): void {
    this.#break(reason, false);
    this.#request.destroy();
  }

  /** Only the first end counts. */
  #break(reason: string, isReset: boolean): void {
    this.#resolve({ kind: 'broken', reason, isStale: isReset && this.#request.reusedSocket });
  }

  #read(response: IncomingMessage): void {
    const status = response.statusCode ?? 0;
    this.#brokeOff = `the answer (${status}) broke off`;
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= answerBytesMax) return;
      this.#resolve({ kind: 'answered', status });
      this.#request.destroy();
    });
    response.on('end', () => this.#resolve({ kind: 'answered', status }));
    response.on('error', () => this.#break(this.#brokeOff, false));
  }
}

function isReset({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE';
}

function describeTransportError(error: NodeJS.ErrnoException): string {
  if (unknownAuthorityCodes.has(error.code ?? ''))
    return `the receiver's certificate is not trusted (${error.code}); name its authority's file in NODE_EXTRA_CA_CERTS`;
  // One error per address tried.
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  return causes.map(({ message }) => message).join('; ') || (error.code ?? 'the connection failed');
}
