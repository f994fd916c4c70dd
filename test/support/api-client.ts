/** Signed requests over real HTTP, with every chance to spoil them on the way. */
import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type RequestOptions,
} from 'node:http';
import { Agent as TlsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { signRequest, type SigningCredential } from '../../src/protocol/tgv1/sign-request.ts';

export interface ApiCall {
  readonly method?: string;
  readonly path?: string;
  /** Query string, not encoded, without `?`. */
  readonly query?: string;
  readonly body?: string | Uint8Array;
  readonly contentType?: string;
  readonly headerSet?: 'long' | 'short';
  readonly credential?: SigningCredential;
  readonly atMs?: number;
  /** Replaces signed headers after signing; null omits a header, an array sends it several times. */
  readonly spoil?: Readonly<Record<string, string | string[] | null>>;
  /** Body sent instead of the signed one. */
  readonly sentBody?: string | Uint8Array;
  readonly sentPath?: string;
  readonly sentMethod?: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body, parsed as JSON. {} when it is not JSON. */
  readonly json: Record<string, unknown> & { code?: number; data?: Record<string, unknown> };
}

export interface SentRequest {
  readonly port: number;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Uint8Array | null;
}

/** Sends a request of this process. Default: straight to its port; a test can put a proxy in between. */
export type Way = (request: SentRequest, sendTo: (port: number) => Promise<ApiAnswer>) => Promise<ApiAnswer>;
let way: Way = ({ port }, sendTo) => sendTo(port);

export function sendBy(another: Way): void {
  way = another;
}

export class ApiClient {
  readonly #port: number;
  readonly #credential: SigningCredential;
  readonly #nowMs: () => number;
  readonly #agent: Agent;
  readonly #sockets = new Set<Socket>();

  /** `ca`: PEM of the certificate authority to trust, over TLS. Default: no TLS. `localAddress`: of its connections. */
  constructor(
    port: number,
    credential: SigningCredential,
    nowMs: () => number = Date.now,
    { ca, localAddress }: { readonly ca?: Buffer; readonly localAddress?: string } = {},
  ) {
    const options = { keepAlive: true, ...(localAddress !== undefined && { localAddress }) };
    this.#agent = ca === undefined ? new Agent(options) : new TlsAgent({ ...options, ca });
    this.#port = port;
    this.#credential = credential;
    this.#nowMs = nowMs;
  }

  get connectionsMade(): number {
    return this.#sockets.size;
  }

  connectivity(deviceId: string, call: ApiCall = {}): Promise<ApiAnswer> {
    return this.call({ query: `device_id=${encodeURIComponent(deviceId)}`, ...call });
  }

  wake(body: object, call: ApiCall = {}): Promise<ApiAnswer> {
    return this.call({
      method: 'POST',
      path: '/v1/device/wakeup-request',
      body: JSON.stringify(body),
      ...call,
    });
  }

  /** Sends a request. Default: a GET of the connectivity record. */
  call(call: ApiCall): Promise<ApiAnswer> {
    const { method = 'GET', path = '/v1/device/connectivity', query = '', headerSet = 'long' } = call;
    const body = call.body === undefined ? null : Buffer.from(call.body);
    const headers: Record<string, string | string[]> = signRequest({
      credential: call.credential ?? this.#credential,
      method,
      path,
      rawQuery: query,
      body,
      ...(call.contentType === undefined ? {} : { contentType: call.contentType }),
      headerSet,
      atMs: call.atMs ?? this.#nowMs(),
    });
    const sentBody = call.sentBody === undefined ? body : Buffer.from(call.sentBody);
    if (sentBody !== null) headers['Content-Length'] = String(sentBody.length);
    for (const [name, value] of Object.entries(call.spoil ?? {})) spoilHeader(headers, name, value);
    const target = `${call.sentPath ?? path}${query === '' ? '' : `?${query}`}`;
    return this.send(call.sentMethod ?? method, target, headers, sentBody);
  }

  send(
    method: string,
    target: string,
    headers: Readonly<Record<string, string | string[]>>,
    body: Uint8Array | null,
  ): Promise<ApiAnswer> {
    const request = { port: this.#port, method, headers, body };
    return way(request, (port) => this.#sendTo({ port, method, path: target, headers }, body));
  }

  close(): void {
    this.#agent.destroy();
  }

  #sendTo(options: RequestOptions, body: Uint8Array | null): Promise<ApiAnswer> {
    return new Promise((resolve, reject) => {
      const sent = this.#begin({ host: '127.0.0.1', ...options, agent: this.#agent });
      sent.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) });
        });
      });
      sent.on('socket', (socket) => this.#sockets.add(socket));
      sent.on('error', reject);
      sent.end(body ?? undefined);
    });
  }

  #begin(options: RequestOptions): ClientRequest {
    return this.#agent instanceof TlsAgent ? httpsRequest(options) : httpRequest(options);
  }
}

function spoilHeader(
  headers: Record<string, string | string[]>,
  name: string,
  value: string | string[] | null,
): void {
  for (const known of Object.keys(headers))
    if (known.toLowerCase() === name.toLowerCase()) delete headers[known];
  if (value !== null) headers[name] = value;
}

function parse(text: string): ApiAnswer['json'] {
  try {
    return JSON.parse(text) as ApiAnswer['json'];
  } catch {
    return {};
  }
}
