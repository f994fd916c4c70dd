/**
 * A request at the listener: what it asks for, and its connection until it is refused, becomes a WebSocket, or has the
 * whole of an answer without a length. Only here is the connection written to before it is a WebSocket; whether the
 * request may come in is not decided here. Source: calls-and-media.md, Legs.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import { legRequestBodyBytesMax, callTokenBytesMax } from '../../model/limits.ts';
import { type FrameSocket, type SocketOwner, openWebSocket } from './web-socket.ts';
import {
  answerOf,
  type HttpRefusal,
  badPicture,
  badWebSocketKey,
  methodNotAllowed,
  notFound,
  upgradeRequired,
} from './refusal.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { LegRefusal } from '../../model/call.ts';

export type LegRequest =
  | { readonly kind: 'device'; readonly token: string }
  | {
      readonly kind: 'bridge';
      readonly bridgeKey: string;
      /** As it was written; null: none. */
      readonly sessionId: string | null;
    }
  /** A device without WebSocket. */
  | { readonly kind: 'downlink'; readonly token: string }
  | { readonly kind: 'viewer'; readonly ticket: string; readonly picture: WatchedPicture };

/** What the bridge sends, or what the device is sent. */
export type WatchedPicture = 'source' | 'output';

type RequestOutcome = Result<LegRequest, HttpRefusal | LegRefusal>;

const devicePath = '/media/v1/device';
const bridgePath = '/media/v1/bridge';
const downlinkPath = '/media/v1/downlink.mjpeg';

/** `asksForUpgrade`: by both headers that it takes. A LegRefusal: no credential, or none of its form. */
export function readLegRequest(request: IncomingMessage, asksForUpgrade: boolean): RequestOutcome {
  const [target = '', ...query] = (request.url ?? '').split('?');
  const path = target.replace(/\/$/, '');
  if (path !== devicePath && path !== bridgePath && path !== downlinkPath) return fail(notFound);
  if (request.method !== 'GET') return fail(methodNotAllowed);
  const parameters = new URLSearchParams(query.join('?'));
  if (path === downlinkPath) return readDownlink(request, parameters);
  const wrong = asksForUpgrade ? faultOfUpgrade(request) : upgradeRequired;
  if (wrong !== null) return fail(wrong);
  return path === devicePath ? readDevice(request) : readBridge(request, parameters);
}

const keyForm = /^[+/0-9A-Za-z]{22}==$/;

/** Null: none. */
function faultOfUpgrade({ headers }: IncomingMessage): HttpRefusal | null {
  if (headers.upgrade?.toLowerCase() !== 'websocket') return upgradeRequired;
  if (!keyForm.test(headers['sec-websocket-key'] ?? '')) return badWebSocketKey;
  return headers['sec-websocket-version'] === '13' ? null : upgradeRequired;
}

function readDevice(request: IncomingMessage): RequestOutcome {
  const token = bearerOf(request);
  return token === null ? fail('malformed') : succeed({ kind: 'device', token });
}

function readBridge(request: IncomingMessage, parameters: URLSearchParams): RequestOutcome {
  const session = readOnce(parameters, 'session');
  if (!session.ok) return session;
  const bridgeKey = bearerOf(request);
  if (bridgeKey === null) return fail('bridge_key');
  return succeed({ kind: 'bridge', bridgeKey, sessionId: session.value });
}

/** A ticket goes before a token: it may do less. */
function readDownlink(request: IncomingMessage, parameters: URLSearchParams): RequestOutcome {
  const ticket = readOnce(parameters, 'ticket');
  if (!ticket.ok) return ticket;
  if (ticket.value !== null) return readViewer(ticket.value, parameters);
  const token = bearerOf(request);
  return token === null ? fail('malformed') : succeed({ kind: 'downlink', token });
}

function readViewer(ticket: string, parameters: URLSearchParams): RequestOutcome {
  const picture = readOnce(parameters, 'picture');
  if (!picture.ok) return picture;
  const watched = picture.value ?? 'output';
  if (watched !== 'source' && watched !== 'output') return fail(badPicture);
  return succeed({ kind: 'viewer', ticket, picture: watched });
}

/** Null: it is not there. */
function readOnce(parameters: URLSearchParams, name: string): Result<string | null, HttpRefusal> {
  const [value = null, ...more] = parameters.getAll(name);
  return more.length === 0 ? succeed(value) : fail({ status: 400, sentence: `${name} stands once at most` });
}

const bearerForm = /^bearer +([\x21-\x7e]+)$/i;

/** Null: none, more than one, or longer than a token is. `headers` would know one of several. */
function bearerOf({ headersDistinct }: IncomingMessage): string | null {
  const [only = '', ...more] = headersDistinct['authorization'] ?? [];
  const bearer = bearerForm.exec(only)?.[1];
  return bearer === undefined || more.length > 0 || bearer.length > callTokenBytesMax ? null : bearer;
}

interface StreamHead {
  readonly contentType: string;
  /** The first of the body. */
  readonly begin: string;
}

export class UpgradeRequest {
  readonly request: IncomingMessage;
  readonly #response: ServerResponse;
  /** What came behind a request for an upgrade; null: it is no such request. */
  readonly #head: Buffer | null;
  #stage: 'asking' | 'streaming' | 'over' = 'asking';
  #whenGone: () => void = () => undefined;

  private constructor(request: IncomingMessage, response: ServerResponse, head: Buffer | null) {
    this.request = request;
    this.#response = response;
    this.#head = head;
    response.once('close', () => {
      this.#stage = 'over';
      this.#whenGone();
    });
  }

  /**
   * A request for no upgrade. A body is discarded, so that the end behind it is read, and cut before it is a flood.
   */
  static plain(request: IncomingMessage, response: ServerResponse): UpgradeRequest {
    let bodyBytes = 0;
    request.on('data', (chunk: Buffer) => {
      bodyBytes += chunk.length;
      if (bodyBytes > legRequestBodyBytesMax) request.socket.destroy();
    });
    return new UpgradeRequest(request, response, null);
  }

  /**
   * A request for an upgrade, whose connection Node leaves to us: it needs an answer and a reader. A peer that hangs up, or
   * sends more before the answer, is cut.
   */
  static upgrading(request: IncomingMessage, head: Buffer): UpgradeRequest {
    const { socket } = request;
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    response.once('finish', () => socket.destroySoon());
    socket.on('data', cut).on('end', cut);
    return new UpgradeRequest(request, response, head);
  }

  get asksForUpgrade(): boolean {
    return this.#head !== null;
  }

  /** The peer still waits for an answer. */
  get isAsking(): boolean {
    return this.#stage === 'asking';
  }

  /** Answers and closes the connection; does nothing when the peer has gone. */
  refuse(refusal: HttpRefusal): void {
    if (this.#stage !== 'asking') return;
    this.#stage = 'over';
    const { headers, body } = answerOf(refusal);
    this.#response.writeHead(refusal.status, headers).end(body);
  }

  /** Holds back what is written from now on, until the returned function is called or the answer ends. */
  hold(): () => void {
    const { socket } = this.request;
    socket.cork();
    return () => socket.uncork();
  }

  /** For a request that asked for it. Calls `own` before it returns, or never: the peer has gone. */
  upgrade(own: (socket: FrameSocket) => SocketOwner): void {
    assert(this.#head !== null, 'nobody is upgraded who did not ask for it');
    if (this.#stage !== 'asking') return;
    this.#stage = 'over';
    const { socket } = this.request;
    this.#response.detachSocket(socket);
    socket.off('data', cut).off('end', cut);
    openWebSocket(this.request, this.#head, own);
  }

  /** Answers 200 and goes on with a body until `end`. `whenGone`: the connection is closed, whoever closed it. */
  stream({ contentType, begin }: StreamHead, whenGone: () => void): void {
    if (this.#stage !== 'asking') return;
    this.#stage = 'streaming';
    this.#whenGone = whenGone;
    this.#response.writeHead(200, {
      'Content-Type': contentType,
      'Cache-Control': 'no-store',
      Connection: 'close',
    });
    this.#response.write(begin);
  }

  /** A piece of the body. `sent`: the system has it, or never will; it is called once, and never within the call. */
  write(parts: readonly (string | Uint8Array)[], sent: () => void): void {
    assert(this.#stage === 'streaming', 'there is a body to write to');
    const last = parts.length - 1;
    for (const [i, part] of parts.entries())
      this.#response.write(part, i === last ? () => sent() : undefined);
  }

  /** Ends the body with `last`, and the connection behind it. */
  end(last: string): void {
    if (this.#stage !== 'streaming') return;
    this.#stage = 'over';
    this.#response.end(last);
  }

  cut(): void {
    this.request.socket.destroy();
  }
}

function cut(this: Socket): void {
  this.destroy();
}
