/**
 * A leg of a call played in software, as far as devices and bridges are alike: one WebSocket to the media listener,
 * text messages both ways, frames out. For the demo and the tests. Source: calls-and-media.md, Legs.
 */
import { WebSocket } from 'ws';
import { mediaMessageBytesMax } from '../domain/limits.ts';

export interface LegAccess {
  /** Of the media listener: `ws://host:port` or `wss://host:port`. */
  readonly url: string;
  /** PEM: whom to trust in place of the usual authorities. */
  readonly ca?: string | Buffer | undefined;
}

export interface LegClosed {
  /** 1006: it broke without a close frame. */
  readonly code: number;
  readonly reason: string;
}

/** A text message of the listener; what else is in it depends on its type. */
export interface LegText {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The listener did not let it in. */
export class LegRefused extends Error {
  /** HTTP. */
  readonly status: number;
  /** The word of the answer; empty: none. */
  readonly reason: string;

  constructor(status: number, reason: string) {
    super(`the media listener refused the leg: ${status} ${reason}`.trimEnd());
    this.status = status;
    this.reason = reason;
  }
}

interface Waiter {
  readonly isWanted: (text: LegText) => boolean;
  readonly resolve: (text: LegText) => void;
  readonly reject: (error: Error) => void;
}

/** Texts held until somebody asks for them; beyond it the newest are let go. */
const textsHeldMax = 256;

export class MediaLeg {
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<LegClosed>;
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  readonly #held: LegText[] = [];
  readonly #waiters: Waiter[] = [];
  #isClosed = false;

  /** Begins to connect; `path` may have a query. */
  protected constructor({ url, ca }: LegAccess, path: string, bearer: string) {
    this.#socket = new WebSocket(new URL(path, url), {
      headers: { Authorization: `Bearer ${bearer}` },
      perMessageDeflate: false,
      maxPayload: mediaMessageBytesMax,
      ...(ca !== undefined && { ca }),
    });
    this.closed = new Promise((resolve) => {
      this.#socket.on('close', (code, reason) => resolve(this.#noteClosed({ code, reason: String(reason) })));
    });
    this.#socket.on('message', (data: Buffer, isBinary) => {
      if (!isBinary) this.#take(JSON.parse(data.toString('utf8')) as LegText);
    });
    this.#opened = opening(this.#socket);
  }

  /** Resolves when it has been let in. Rejects with LegRefused, or the socket's error when nobody answers. */
  protected async opened(): Promise<this> {
    await this.#opened;
    return this;
  }

  send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  /** `bytes`: the header and what it tells of. */
  frame(bytes: Uint8Array): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(bytes);
  }

  /** Resolves when the listener has answered it, or the connection is gone. */
  ping(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('pong', () => resolve());
      void this.closed.then(() => resolve());
      if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
    });
  }

  /** The next text of this type; those of others are held. Rejects when the connection is gone first. */
  next<Text extends LegText>(type: Text['type']): Promise<Text> {
    return this.until((text): text is Text => text.type === type);
  }

  /** The first wanted text that nobody has asked for yet; the others are held. Rejects as `next` does. */
  until<Text extends LegText>(isWanted: (text: LegText) => text is Text): Promise<Text>;
  until(isWanted: (text: LegText) => boolean): Promise<LegText>;
  until(isWanted: (text: LegText) => boolean): Promise<LegText> {
    const held = takeFirst(this.#held, isWanted);
    if (held !== undefined) return Promise.resolve(held);
    if (this.#isClosed) return Promise.reject(goneError());
    return new Promise((resolve, reject) => this.#waiters.push({ isWanted, resolve, reject }));
  }

  /** Says goodbye with a close frame. */
  close(): Promise<LegClosed> {
    this.#socket.close(1000);
    return this.closed;
  }

  /** Cuts the connection without a word. */
  terminate(): Promise<LegClosed> {
    this.#socket.terminate();
    return this.closed;
  }

  #take(text: LegText): void {
    const waiter = takeFirst(this.#waiters, ({ isWanted }) => isWanted(text));
    if (waiter !== undefined) waiter.resolve(text);
    else if (this.#held.length < textsHeldMax) this.#held.push(text);
  }

  #noteClosed(closed: LegClosed): LegClosed {
    this.#isClosed = true;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(goneError());
    return closed;
  }
}

function opening(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.on('open', resolve);
    // After the opening an error is followed by the close, which says that the leg is gone.
    socket.on('error', reject);
    socket.on('unexpected-response', (request, response) => {
      let reason = '';
      response.on('data', (chunk: Buffer) => (reason += chunk.toString('latin1')));
      response.on('end', () => {
        reject(new LegRefused(response.statusCode ?? 0, reason));
        request.destroy();
      });
    });
  });
}

/** Out of the list; undefined: there is none. */
function takeFirst<Item>(list: Item[], isWanted: (item: Item) => boolean): Item | undefined {
  const index = list.findIndex(isWanted);
  return index === -1 ? undefined : list.splice(index, 1)[0];
}

function goneError(): Error {
  return new Error('the media leg is closed');
}
