/** A backend as a real HTTP server that verifies with the reference library and answers as a test scripts. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { Ending } from './temporary-store.ts';

export const receiverSecret = `whsec_${Buffer.from('the secret of a receiver').toString('base64')}`;

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The event; null: the reference library rejected the signature. */
  readonly event: Record<string, unknown> | null;
}

type Answer = (response: ServerResponse, received: Received, request: IncomingMessage) => void;

export const ok: Answer = (response) => void response.writeHead(200).end('thank you');

export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end();

export class WebhookReceiver {
  readonly received: Received[] = [];
  connections = 0;
  readonly url: string;
  #answer: Answer = ok;
  #wake: () => void = () => undefined;

  private constructor(url: string) {
    this.url = url;
  }

  static async start(
    t: Ending,
    tls: { readonly cert: string; readonly key: string } | null = null,
  ): Promise<WebhookReceiver> {
    const server = tls === null ? createServer() : createTlsServer(tls);
    const sockets = new Set<Socket>();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    const receiver = new WebhookReceiver(`${tls === null ? 'http' : 'https'}://127.0.0.1:${port}/hook`);
    server.on('connection', (socket: Socket) => {
      receiver.connections += 1;
      sockets.add(socket);
    });
    server.on('request', (request, response) => void receiver.#receive(request, response));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return receiver;
  }

  answer(answer: Answer): void {
    this.#answer = answer;
  }

  /** Answers in turn, then repeats the last one. */
  answerInTurn(...answers: readonly Answer[]): void {
    const left = [...answers];
    this.#answer = (...args) => (left.length > 1 ? left.shift() : left[0])?.(...args);
  }

  /** Resolves when `count` requests have arrived since the start. */
  async until(count: number): Promise<readonly Received[]> {
    while (this.received.length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.received;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { method = '', url = '', headers } = request;
    const received = { method, path: url, headers, body, event: verify(body, headers) };
    this.received.push(received);
    this.#answer(response, received, request);
    this.#wake();
  }
}

function verify(body: string, headers: IncomingHttpHeaders): Record<string, unknown> | null {
  try {
    return new Webhook(receiverSecret).verify(body, headers as Record<string, string>) as Record<
      string,
      unknown
    >;
  } catch {
    return null;
  }
}
