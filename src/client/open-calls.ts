/** The pending calls of a client: each is aborted by its caller's signal, and all by closing the client. */

export interface OpenCall {
  /** Aborted by the caller or by closing the client. */
  readonly signal: AbortSignal;
  end(): void;
}

export class OpenCalls {
  readonly #open = new Set<AbortController>();
  #isClosed = false;

  /** Returns an already aborted call if the caller's signal is aborted or the client is closed. */
  open(callers: AbortSignal | undefined): OpenCall {
    const call = new AbortController();
    const abort = (): void => call.abort(callers?.reason);
    if (this.#isClosed) call.abort(closed());
    if (callers?.aborted === true) abort();
    callers?.addEventListener('abort', abort);
    this.#open.add(call);
    return {
      signal: call.signal,
      end: () => {
        callers?.removeEventListener('abort', abort);
        this.#open.delete(call);
      },
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const call of this.#open) call.abort(closed());
  }
}

function closed(): Error {
  return new Error('this client is closed');
}
