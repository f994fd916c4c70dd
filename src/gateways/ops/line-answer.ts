/** An answer of one line of JSON after the other, as NDJSON: the first line begins it. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';

export const ndjsonType = 'application/x-ndjson';

export class LineAnswer {
  readonly #reply: FastifyReply;
  readonly #lines = new PassThrough();
  readonly #gone = new AbortController();
  #hasBegun = false;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) this.#gone.abort();
    });
  }

  /** Aborted when the caller hangs up before the answer is whole. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** The status can no longer be chosen. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Resolves when the next may come; to false: the caller has hung up. */
  async send(line: unknown): Promise<boolean> {
    if (this.gone.aborted) return false;
    this.#begin();
    if (this.#lines.write(`${JSON.stringify(line)}\n`)) return true;
    await once(this.#lines, 'drain', { signal: this.gone }).catch(() => undefined);
    return !this.gone.aborted;
  }

  end(): void {
    this.#begin();
    this.#lines.end();
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.#reply.type(ndjsonType).send(this.#lines);
  }
}
