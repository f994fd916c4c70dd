/** A media listener that does what a test tells it to: what legs in software are held against. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Ending } from './temporary-store.ts';

export interface TakenLeg {
  readonly request: IncomingMessage;
  readonly socket: WebSocket;
  /** What it sent, in its order: texts as they are, frames as bytes. */
  readonly received: readonly (string | Buffer)[];
  say(text: object): void;
  /** Resolves when it has sent so many. */
  whenReceived(count: number): Promise<void>;
}

export class LegListener {
  readonly url: string;
  readonly #legs: WebSocketServer;

  private constructor(legs: WebSocketServer, port: number) {
    this.#legs = legs;
    this.url = `ws://127.0.0.1:${port}`;
  }

  /** `refusal`: answered to every upgrade in place of letting it in. */
  static async open(
    t: Ending,
    refusal: { status: number; body: string } | null = null,
  ): Promise<LegListener> {
    const http = createServer();
    const legs = new WebSocketServer({ noServer: true });
    http.on('upgrade', (request, socket, head) => {
      if (refusal === null)
        return legs.handleUpgrade(request, socket, head, (leg) => legs.emit('connection', leg, request));
      const { status, body } = refusal;
      return socket.end(
        `HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      );
    });
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    t.after(() => {
      for (const client of legs.clients) client.terminate();
      http.close();
    });
    return new LegListener(legs, (http.address() as AddressInfo).port);
  }

  /** The next leg that comes. Call it before it does. */
  async take(): Promise<TakenLeg> {
    const [socket, request] = (await once(this.#legs, 'connection')) as [WebSocket, IncomingMessage];
    const received: (string | Buffer)[] = [];
    let note: () => void = () => undefined;
    socket.on('message', (data: Buffer, isBinary) => {
      received.push(isBinary ? data : data.toString('utf8'));
      note();
    });
    return {
      request,
      socket,
      received,
      say: (text) => socket.send(JSON.stringify(text)),
      async whenReceived(count) {
        while (received.length < count) await new Promise<void>((resolve) => (note = resolve));
      },
    };
  }
}
