/** A leg of a call as a client library makes it, and hand-written requests to the media listener. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { RawPeer } from './raw-peer.ts';
import { SignalPeer, upgradeRequest } from './signal-peer.ts';

export const devicePath = '/media/v1/device';
export const bridgePath = '/media/v1/bridge';
export const downlinkPath = '/media/v1/downlink.mjpeg';

export interface MediaPeerOptions {
  readonly path?: string;
  /** Null: no Authorization header. */
  readonly bearer?: string | null;
  /** PEM of the certificate authority to trust; set: TLS. */
  readonly ca?: Buffer;
}

export class MediaRefused extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`refused with ${status}`);
    this.status = status;
  }
}

export class MediaPeer {
  readonly socket: WebSocket;
  /** The close frame as `code reason`; 1006: none. */
  readonly closed: Promise<string>;
  readonly frames: Buffer[] = [];
  readonly #texts: string[] = [];

  constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => resolve(`${code} ${reason.toString()}`.trimEnd()));
    });
    socket.on('message', (message: Buffer, isBinary: boolean) => {
      if (isBinary) this.frames.push(message);
      else this.#texts.push(message.toString('utf8'));
    });
  }

  /** Resolves when upgraded. Rejects with MediaRefused, or with the socket's error. */
  static async connect(port: number, options: MediaPeerOptions = {}): Promise<MediaPeer> {
    const { path = devicePath, bearer = 'good-token', ca } = options;
    const headers: Record<string, string> = bearer === null ? {} : { Authorization: `Bearer ${bearer}` };
    const origin = `${ca === undefined ? 'ws' : 'wss'}://127.0.0.1:${port}`;
    const socket = new WebSocket(`${origin}${path}`, { headers, ...(ca !== undefined && { ca }) });
    const peer = new MediaPeer(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.on('error', reject);
      socket.once('unexpected-response', (request, response) => {
        request.destroy();
        reject(new MediaRefused(response.statusCode ?? 0));
      });
    });
    return peer;
  }

  send(message: string | Buffer): void {
    this.socket.send(message);
  }

  /** Resolves to the next text; null when the connection closes before one. */
  async nextText(): Promise<string | null> {
    while (this.#texts.length === 0) {
      if (this.socket.readyState === WebSocket.CLOSED) return null;
      await Promise.race([once(this.socket, 'message'), this.closed]);
    }
    return this.#texts.shift() ?? null;
  }

  /** Resolves when `count` frames have arrived. Rejects when the connection closes before. */
  async framesCome(count: number): Promise<void> {
    while (this.frames.length < count) {
      if (this.socket.readyState === WebSocket.CLOSED)
        throw new Error(`closed behind ${this.frames.length} frames`);
      await Promise.race([once(this.socket, 'message'), this.closed]);
    }
  }

  async nextMessage(): Promise<unknown> {
    return JSON.parse((await this.nextText()) ?? 'null');
  }

  async ping(): Promise<void> {
    this.socket.ping();
    await once(this.socket, 'pong');
  }
}

export interface HttpAnswer {
  readonly status: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A valid upgrade request of a leg, unless `headers` overrides it; null omits a header. */
export function legUpgrade(
  headers: Readonly<Record<string, string | null>> = {},
  target = `GET ${devicePath}`,
): string {
  const own = { 'Sec-WebSocket-Protocol': null, Authorization: 'Bearer good-token' };
  return upgradeRequest({ ...own, ...headers }, target);
}

export function plainRequest(target: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}`);
  return `${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

export async function readHead(raw: RawPeer): Promise<Omit<HttpAnswer, 'body'>> {
  const [first = '', ...lines] = (await new SignalPeer(raw).readHead()).trimEnd().split('\r\n');
  const headers = lines.map((line) => line.split(': ', 2) as [string, string]);
  return {
    status: first.slice('HTTP/1.1 '.length),
    headers: new Map(headers.map(([name, value]) => [name.toLowerCase(), value])),
  };
}

/** Sends a request and reads the answer to the end of the connection. */
export async function answerTo(port: number, request: string): Promise<HttpAnswer> {
  const raw = await RawPeer.connect(port);
  raw.send(request);
  const head = await readHead(raw);
  const body = await raw.readAll();
  raw.socket.destroy();
  return { ...head, body };
}
