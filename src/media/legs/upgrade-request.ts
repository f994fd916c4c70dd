/**
 * The connection of a request until it is refused, answered or upgraded to a WebSocket, or its streamed response ends. Only this class
 * writes to it before it is a WebSocket. Source: calls-and-media.md, Legs.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import { legRequestBodyBytesMax } from '../../model/limits.ts';
import { type FrameSocket, type SocketOwner, openWebSocket } from './web-socket.ts';
import { answerOf, type HttpRefusal, type RefusalAnswer } from './refusal.ts';

interface StreamHead {
  readonly contentType: string;
  readonly begin: string;
}

export class UpgradeRequest {
  readonly request: IncomingMessage;
  readonly #response: ServerResponse;
  /** Bytes received after an upgrade request; null: no upgrade was requested. */
  readonly #head: Buffer | null;
  #stage: 'asking' | 'streaming' | 'over' = 'asking';
  #whenGone: () => void = () => undefined;
  #isBodyUnread = true;
  #answerOf: (refusal: HttpRefusal) => RefusalAnswer = answerOf;

  private constructor(request: IncomingMessage, response: ServerResponse, head: Buffer | null) {
    this.request = request;
    this.#response = response;
    this.#head = head;
    response.once('close', () => {
      this.#stage = 'over';
      this.#whenGone();
    });
  }

  /** A request without upgrade. Its body stays unread until it is read or discarded. */
  static plain(request: IncomingMessage, response: ServerResponse): UpgradeRequest {
    return new UpgradeRequest(request, response, null);
  }

  /**
   * An upgrade request, whose connection Node hands over: it needs a response and a reader. A peer that hangs up, or sends more before
   * the response, is cut.
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

  get isAsking(): boolean {
    return this.#stage === 'asking';
  }

  /** Address of the peer; empty: it has disconnected. */
  get address(): string {
    return this.request.socket.remoteAddress ?? '';
  }

  /** Discards an unwanted body, so that the end of the connection is noticed; cuts the peer if the body is too long. */
  discardBody(): void {
    if (!this.#isBodyUnread) return;
    this.#isBodyUnread = false;
    let bodyBytes = 0;
    this.request.on('data', (chunk: Buffer) => {
      bodyBytes += chunk.length;
      if (bodyBytes > legRequestBodyBytesMax) this.cut();
    });
  }

  /**
   * Reads the whole body, after 100 Continue if the client expects it. Null: it exceeds `bytesMax`, or the peer has disconnected or
   * timed out.
   */
  readBody(bytesMax: number): Promise<Buffer | null> {
    this.#isBodyUnread = false;
    const { request } = this;
    if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.resolve(null);
    if (request.headers.expect !== undefined && this.isAsking) this.#response.writeContinue();
    const pieces: Buffer[] = [];
    let bytes = 0;
    return new Promise((resolve) => {
      request.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes <= bytesMax) pieces.push(piece);
        else resolve(null);
      });
      request.once('end', () => resolve(Buffer.concat(pieces)));
      request.once('close', () => resolve(null));
    });
  }

  refuseBy(form: (refusal: HttpRefusal) => RefusalAnswer): void {
    this.#answerOf = form;
  }

  /** Answers and closes the connection; does nothing if the peer has disconnected. */
  refuse(refusal: HttpRefusal): void {
    const { headers, body } = this.#answerOf(refusal);
    this.answer(refusal.status, headers, body);
  }

  answer(status: number, headers: Readonly<Record<string, string>>, body: string): void {
    if (this.#stage !== 'asking') return;
    this.#stage = 'over';
    this.discardBody();
    this.#response.writeHead(status, headers).end(body);
  }

  /** Corks the socket until the returned function is called or the response ends. */
  delayWrites(): () => void {
    const { socket } = this.request;
    socket.cork();
    return () => socket.uncork();
  }

  /** Only for upgrade requests. Calls `own` before it returns, or never if the peer has disconnected. */
  upgrade(own: (socket: FrameSocket) => SocketOwner): void {
    assert(this.#head !== null, 'only an upgrade request is upgraded');
    if (this.#stage !== 'asking') return;
    this.#stage = 'over';
    const { socket } = this.request;
    this.#response.detachSocket(socket);
    socket.off('data', cut).off('end', cut);
    openWebSocket(this.request, this.#head, own);
  }

  /** Answers 200 and streams a body until `end`. `whenGone`: the connection is closed, by either side. */
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

  /** Writes a piece of the body. `sent` is called once, never within this call: the system has accepted the piece, or never will. */
  write(parts: readonly (string | Uint8Array)[], sent: () => void): void {
    assert(this.#stage === 'streaming', 'there is a body to write to');
    const last = parts.length - 1;
    for (const [i, part] of parts.entries())
      this.#response.write(part, i === last ? () => sent() : undefined);
  }

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
