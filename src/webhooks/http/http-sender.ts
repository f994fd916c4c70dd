/**
 * Attempts over HTTP: a signed POST each, all of it under one deadline. What a receiver says beyond its status is read,
 * so that its connection can be kept, and thrown away. Redirects are not followed. Source: events.md, Webhooks.
 */
import { request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import type { Clock } from '../../lib/clock.ts';
import type { Webhook } from '../../model/registry.ts';
import type { WebhookAnswer, WebhookMessage, WebhookSender } from '../../core/ports/webhook-sender.ts';
import { checkedLookup, type NameResolver } from './name-resolver.ts';
import { HttpAttempt, type AttemptEnd, describeTransportError } from './http-attempt.ts';
import { KeptHttpConnections, KeptHttpsConnections } from './kept-connections.ts';
import { reasonCharactersMax } from '../delivery/limits.ts';
import { refuseAddress } from './special-address.ts';

export interface HttpSenderDeps {
  readonly clock: Clock;
  readonly resolver: NameResolver;
  /** Whether special addresses are allowed. */
  readonly allowLocal: boolean;
  readonly userAgent: string;
  /** Milliseconds of one attempt, all told. */
  readonly attemptMsMax: number;
}

/** Where a webhook's messages go, and what signs them. */
interface Receiver {
  readonly request: typeof requestHttp;
  readonly options: RequestOptions;
  readonly signer: MessageSigner;
}

export class HttpSender implements WebhookSender {
  readonly #deps: HttpSenderDeps;
  readonly #lookup: LookupFunction;
  readonly #http: KeptHttpConnections;
  readonly #https: KeptHttpsConnections;
  /** By the registry's entry, which is a new one when anything in it changes; or why nothing can be sent there. */
  readonly #receivers = new WeakMap<Webhook, Receiver | Error>();
  readonly #underWay = new Set<HttpAttempt>();

  constructor(deps: HttpSenderDeps) {
    const { resolver, allowLocal } = deps;
    this.#deps = deps;
    this.#lookup = checkedLookup(resolver, allowLocal);
    this.#http = new KeptHttpConnections(allowLocal);
    this.#https = new KeptHttpsConnections(allowLocal);
  }

  async send(webhook: Webhook, message: WebhookMessage): Promise<WebhookAnswer> {
    const receiver = this.#receiverOf(webhook);
    if (receiver instanceof Error) return failed(receiver.message);
    const startedMs = this.#deps.clock.monotonicMs();
    try {
      const end = await this.#attempt(receiver, message, startedMs);
      // That a receiver closes an idle connection is no failure of this event.
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
    const { clock, userAgent, attemptMsMax } = this.#deps;
    const body = Buffer.from(message.body);
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      'user-agent': userAgent,
      ...receiver.signer.sign(message, clock.wallMs()),
    };
    const attempt = new HttpAttempt(receiver.request({ ...receiver.options, headers }), body);
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
    if (!isPlain && url.protocol !== 'https:') return new Error('only http and https URLs are sent to');
    // An address needs no lookup, and so gets none.
    const refusal = isIP(hostname ?? '') === 0 ? null : refuseAddress(hostname ?? '', this.#deps.allowLocal);
    if (refusal !== null) return new Error(refusal);
    try {
      return {
        request: isPlain ? requestHttp : requestHttps,
        options: {
          method: 'POST',
          hostname,
          port,
          path,
          auth,
          agent: isPlain ? this.#http : this.#https,
          lookup: this.#lookup,
          ...(isPlain ? {} : { rejectUnauthorized: true }),
        },
        signer: new MessageSigner(webhook.secret),
      };
    } catch {
      return new Error(
        'the secret of the webhook is not whsec_ and Base64, so nothing can be signed with it',
      );
    }
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

class MessageSigner {
  readonly #signer: StandardWebhook;

  /** Throws when the secret is not Base64, with `whsec_` before it or not: nothing can be signed with it then. */
  constructor(secret: string) {
    this.#signer = new StandardWebhook(secret);
  }

  /** `wallMs`: of this attempt, which receivers hold against their own clocks. */
  sign({ id, body }: WebhookMessage, wallMs: number): Record<string, string> {
    const at = new Date(wallMs);
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(wallMs / 1000)),
      'webhook-signature': this.#signer.sign(id, at, body),
    };
  }
}
