/** The front end's request and response in memory. The response throws on misuse as the real one does. */
import assert from 'node:assert/strict';
import { HttpConnections } from '../../src/lib/connections/http-connections.ts';
import type { HttpRequest, HttpResponse } from '../../src/lib/uws.ts';

export class FakeResponse implements HttpResponse {
  status = '200 OK';
  readonly headers = new Map<string, string>();
  body: string | null = null;
  closed = false;
  #aborted: (() => void) | null = null;
  #receive: (chunk: ArrayBuffer, isLast: boolean) => void = () => undefined;
  #over = false;
  readonly #finished: Promise<void>;
  #finish: () => void = () => undefined;

  constructor() {
    this.#finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get json(): Record<string, unknown> {
    return JSON.parse(this.body ?? '{}') as Record<string, unknown>;
  }

  /** Resolves when it was answered or aborted. */
  get finished(): Promise<void> {
    return this.#finished;
  }

  hangUp(): void {
    assert.ok(this.#aborted !== null, 'the abort handler is set');
    this.#over = true;
    this.#aborted();
  }

  getRemoteAddressAsText(): ArrayBuffer {
    return new TextEncoder().encode('192.0.2.1').buffer;
  }

  onAborted(listener: () => void): void {
    this.#touch();
    this.#aborted = listener;
  }

  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#touch();
    this.#receive = listener;
  }

  /** The chunk's memory is reused afterwards, as the library's is. */
  receive(text: string, isLast: boolean): void {
    const chunk = new TextEncoder().encode(text);
    this.#receive(chunk.buffer, isLast);
    chunk.fill(0);
  }

  cork(write: () => void): void {
    this.#touch();
    write();
  }

  writeStatus(status: string): void {
    this.#touch();
    this.status = status;
  }

  /** A value may contain further header lines. */
  writeHeader(name: string, value: string): void {
    this.#touch();
    const [first = '', ...further] = value.split('\r\n');
    this.headers.set(name.toLowerCase(), first);
    for (const line of further) {
      const [also = '', text = ''] = line.split(': ');
      this.headers.set(also.toLowerCase(), text);
    }
  }

  end(body: string): void {
    this.#touch();
    this.#over = true;
    this.body = body;
    this.#finish();
  }

  tryEnd(): void {
    this.end('');
  }

  close(): void {
    this.#touch();
    this.#over = true;
    this.closed = true;
    this.#finish();
  }

  #touch(): void {
    assert.ok(!this.#over, 'a response is not touched after its end');
  }
}

export function fakeRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  query = '',
): HttpRequest {
  return {
    forEach(each) {
      for (const [name, value] of Object.entries(headers)) each(name.toLowerCase(), value);
    },
    getCaseSensitiveMethod: () => method,
    getUrl: () => path,
    getQuery: () => query,
  };
}

export function anyConnections(): HttpConnections {
  return new HttpConnections({ max: () => Infinity, perAddressMax: 0 }, 1);
}
