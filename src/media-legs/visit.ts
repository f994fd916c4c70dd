/**
 * A request from its coming until it is refused, is a WebSocket, or has the whole of an answer that has no length. A
 * response of the library must not be touched after an abort; this is the only place that touches it.
 */
import { STATUS_CODES } from 'node:http';
import type { HttpResponse } from '../base/uws.ts';
import type { SocketPlace, SocketTag } from './frame-socket.ts';
import type { Upgrade } from './leg-request.ts';
import type { HttpRefusal } from './refusal.ts';

export class Visit {
  readonly #response: HttpResponse;
  #stage: 'asking' | 'streaming' | 'over' = 'asking';
  #whenGone: () => void = () => undefined;

  /** Within the library's handler. */
  constructor(response: HttpResponse) {
    this.#response = response;
    response.onAborted(() => {
      this.#stage = 'over';
      this.#whenGone();
    });
  }

  /** The visitor still waits for an answer. */
  get isAsking(): boolean {
    return this.#stage === 'asking';
  }

  /** Answers and closes the connection; does nothing when the visitor has gone. */
  refuse({ status, sentence, headers = {} }: HttpRefusal): void {
    if (this.#stage !== 'asking') return;
    this.#stage = 'over';
    const response = this.#response;
    response.cork(() => {
      response.writeStatus(`${status} ${STATUS_CODES[status] ?? 'Unknown'}`);
      response.writeHeader('Content-Type', 'application/json; charset=utf-8');
      for (const [name, value] of Object.entries(headers)) response.writeHeader(name, value);
      response.end(JSON.stringify({ error: sentence }), true);
    });
  }

  /**
   * Opens a WebSocket with no subprotocol and no extension, whatever is offered. Its place has the socket, or null when
   * the visitor has gone. Nothing else is done within the cork: behind it the library looks at memory that was the
   * response's, and closes the connection by what others have written there since.
   */
  upgrade({ webSocketKey, context }: Upgrade): SocketPlace {
    const place: SocketPlace = { socket: null, owner: null };
    if (this.#stage !== 'asking') return place;
    this.#stage = 'over';
    const tag: SocketTag = { place };
    this.#response.cork(() => this.#response.upgrade(tag, webSocketKey, '', '', context));
    return place;
  }

  /** Answers 200 and `first`, not empty, of a body that `end` ends. `whenGone`: the visitor hung up before. */
  stream(contentType: string, first: string, whenGone: () => void): void {
    if (this.#stage !== 'asking') return;
    this.#stage = 'streaming';
    this.#whenGone = whenGone;
    const response = this.#response;
    response.cork(() => {
      response.writeHeader('Content-Type', contentType);
      response.writeHeader('Cache-Control', 'no-store');
      response.writeHeader('Connection', 'close');
      response.write(first);
    });
  }

  /**
   * Ends the body with `last`. The peer was told to close the connection behind it, else the library does, after 8 to
   * 12 s: told to close at once, it would write a header into the body.
   */
  end(last: string): void {
    if (this.#stage !== 'streaming') return;
    this.#stage = 'over';
    this.#response.cork(() => this.#response.end(last));
  }

  /** Cuts the connection; `whenGone` is called. */
  cut(): void {
    if (this.#stage !== 'over') this.#response.close();
  }
}
