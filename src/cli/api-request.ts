/** A signed request over HTTP, sent exactly as it was signed: no other library may tidy up its target or headers. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { buffer as readAll } from 'node:stream/consumers';
import { InvalidArgumentError } from 'commander';
import type { Clock } from '../base/clock.ts';
import { signRequest, type SigningCredential } from '../tgv1/sign-request.ts';
import type { HeaderSet } from '../tgv1/signed-headers.ts';
import { CommandError } from './command-error.ts';
import { formatTarget, type RequestTarget } from './request-target.ts';

export interface ApiRequest {
  /** Like `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly credential: SigningCredential;
  readonly method: string;
  readonly target: RequestTarget;
  readonly body: Buffer | null;
  readonly headerSet?: HeaderSet;
  /** X-Request-ID, sent unsigned. */
  readonly requestId?: string | undefined;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The envelope; null when the body is no JSON object. */
  readonly json: Readonly<Record<string, unknown>> | null;
  /** From the envelope; null when it has none. */
  readonly code: number | null;
}

/** Every operation answers within 2 s: what takes longer is no answer. */
const answerMsMax = 10_000;

/** Throws a CommandError when nobody answers. */
export function sendApiRequest(request: ApiRequest, clock: Clock): Promise<ApiAnswer> {
  const { origin, credential, method, target, body, headerSet = 'long', requestId } = request;
  const headers = signRequest({ credential, method, ...target, body, headerSet, atMs: clock.wallMs() });
  if (requestId !== undefined) headers['X-Request-ID'] = requestId;
  const url = new URL(origin);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(unreachable(origin, error));
    const sent = send(url, { method, path: formatTarget(target), headers, agent: false });
    sent.setTimeout(answerMsMax, () => sent.destroy(new Error(`no answer within ${answerMsMax / 1000} s`)));
    sent.on('error', fail);
    sent.on('response', (response) => {
      readAll(response).then((bytes) => {
        const text = bytes.toString();
        const json = parseObject(text);
        const code = typeof json?.['code'] === 'number' ? json['code'] : null;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json, code });
      }, fail);
    });
    sent.end(body ?? undefined);
  });
}

/** An origin: scheme, host and port. Throws InvalidArgumentError. */
export function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isOrigin =
    url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search === '';
  if (!isOrigin) throw new InvalidArgumentError('Expected an origin like http://127.0.0.1:8080.');
  return url.origin;
}

function parseObject(text: string): ApiAnswer['json'] {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function unreachable(origin: string, error: NodeJS.ErrnoException): CommandError {
  const reason = error.code === 'ECONNREFUSED' ? 'nothing listens there' : error.message;
  return new CommandError(
    `no answer from ${origin}: ${reason}`,
    'start the server, or name another with --url http://host:port',
  );
}
