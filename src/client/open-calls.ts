/** The calls that a client has under way: each ends when its caller aborts it, and all of them with the client. */

export interface OpenCall {
  /** Aborted when the call is to end, whoever says so. */
  readonly signal: AbortSignal;
  /** To be called once, when it is over. */
  end(): void;
}

export class OpenCalls {
  readonly #open = new Set<AbortController>();
  #isClosed = false;

  /** One that has ended already, when the caller's signal is aborted or the client is closed. */
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
