/** A tail of a stream in memory: yields pushed messages until it is closed. */
import type { TailMessage } from '../../src/cluster/events/stream-tail.ts';

export class PushedMessages implements AsyncIterable<TailMessage> {
  readonly #dropsAtClose: boolean;
  readonly #waiting: TailMessage[] = [];
  #isClosed = false;
  #wake = (): void => undefined;

  /** `dropsAtClose`: closing drops unread messages, as a broken connection does; otherwise they are read first. */
  constructor({ dropsAtClose }: { readonly dropsAtClose: boolean }) {
    this.#dropsAtClose = dropsAtClose;
  }

  push(message: TailMessage): void {
    if (this.#isClosed && this.#dropsAtClose) return;
    this.#waiting.push(message);
    this.#wake();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#dropsAtClose) this.#waiting.length = 0;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TailMessage, void, undefined> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message !== undefined) yield message;
      else if (this.#isClosed) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
