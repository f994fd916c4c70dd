/**
 * The connection of a request until it is refused or answered, becomes a WebSocket, or has the whole of an answer without a
 * length. Only here is it written to before it is a WebSocket. Source: calls-and-media.md, Legs.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { assert } from '../../lib/assert.ts';
import { legRequestBodyBytesMax } from '../../model/limits.ts';
import { type FrameSocket, type SocketOwner, openWebSocket } from './web-socket.ts';
import { answerOf, type HttpRefusal, type RefusalAnswer } from './refusal.ts';

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
  #isBodyUnread = true;
  /** Refusals in its form. */
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

  /** A request for no upgrade. Its body is left with the system until it is read or discarded. */
  static plain(request: IncomingMessage, response: ServerResponse): UpgradeRequest {
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

  /** Of the peer; empty: it has gone. */
  get address(): string {
    return this.request.socket.remoteAddress ?? '';
  }

  /** A body that nobody asked for, so that the end behind it is read; it is cut before it is a flood. */
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
   * The whole body, which a client that waits to be told so sends only now. Null: it is larger than `bytesMax`, or the peer
   * has gone, as one does whose time is up.
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

  /** From now on it is refused in this form. */
  refuseBy(form: (refusal: HttpRefusal) => RefusalAnswer): void {
    this.#answerOf = form;
  }

  /** Answers and closes the connection; does nothing when the peer has gone. */
  refuse(refusal: HttpRefusal): void {
    const { headers, body } = this.#answerOf(refusal);
    this.answer(refusal.status, headers, body);
  }

  /** As `refuse` does. */
  answer(status: number, headers: Readonly<Record<string, string>>, body: string): void {
    if (this.#stage !== 'asking') return;
    this.#stage = 'over';
    this.discardBody();
    this.#response.writeHead(status, headers).end(body);
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
