/**
 * The DevTools protocol over the pipe of `--remote-debugging-pipe`: JSON, each message ended by a zero byte. Which
 * commands there are is left to who uses it.
 */
import { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';

interface DevtoolsMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Emits the browser's events under their names, with their parameters. */
export class DevtoolsPipe extends EventEmitter {
  readonly #toBrowser: Writable;
  readonly #waiting = new Map<number, Waiting>();
  #pieces: Buffer[] = [];
  #isClosed = false;
  #lastId = 0;

  constructor(toBrowser: Writable, fromBrowser: Readable) {
    super();
    this.#toBrowser = toBrowser;
    toBrowser.on('error', () => this.#close());
    fromBrowser.on('data', (piece: Buffer) => this.#receive(piece));
    fromBrowser.on('error', () => this.#close());
    fromBrowser.on('close', () => this.#close());
  }

  /** Resolves to the command's result; rejects when the browser refuses it, or is gone. */
  send(method: string, params: object = {}, sessionId?: string): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error(`${method}: the browser is gone`));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#toBrowser.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  #receive(piece: Buffer): void {
    let rest = piece;
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      const message = Buffer.concat([...this.#pieces, rest.subarray(0, end)]).toString('utf8');
      this.#pieces = [];
      rest = rest.subarray(end + 1);
      this.#take(JSON.parse(message) as DevtoolsMessage);
    }
    if (rest.length > 0) this.#pieces.push(rest);
  }

  #take({ id, method, params, result, error }: DevtoolsMessage): void {
    if (method !== undefined) this.emit(method, params);
    const waiting = this.#waiting.get(id ?? 0);
    if (id === undefined || waiting === undefined) return;
    this.#waiting.delete(id);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(new Error(error.message));
  }

  #close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.values()) reject(new Error('the browser is gone'));
    this.#waiting.clear();
  }
}
