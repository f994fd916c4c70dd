/** The errors that a call can end in. None holds a secret, a signature or the text of an answer. */

/** Nobody answered, or not in time. */
export class ReveilleUnreachableError extends Error {
  override readonly name = 'ReveilleUnreachableError';
  declare readonly cause: NodeJS.ErrnoException;
  readonly origin: string;
  /** False: nothing of the request has left this machine. True: it may have been carried out. */
  readonly mayHaveArrived: boolean;

  constructor(origin: string, mayHaveArrived: boolean, cause: NodeJS.ErrnoException) {
    super(`no answer from ${origin}: ${reasonOf(cause)}`, { cause });
    this.origin = origin;
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** Several addresses that all fail make an error without words of its own. */
function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === 'ECONNREFUSED' ? 'nothing listens there' : message || (code ?? 'unknown');
}

/** Somebody answered, but not as the API does: another server, or one that stands in front of it. */
export class ReveilleProtocolError extends Error {
  override readonly name = 'ReveilleProtocolError';
  readonly origin: string;
  readonly status: number;
  /** Of a `Retry-After`; null: none. */
  readonly retryAfterS: number | null;

  constructor(origin: string, status: number, found: string, retryAfterS: number | null = null) {
    super(`${origin} does not answer as the API does: HTTP ${status}, ${found}`);
    this.origin = origin;
    this.status = status;
    this.retryAfterS = retryAfterS;
  }

  /** A gateway that did not get an answer itself: what it was asked may have been carried out. */
  get isOfGateway(): boolean {
    return this.status >= 502 && this.status <= 504;
  }
}

/** Events cannot be followed, or devices listed, any further: the server refuses, and would again. */
export class ReveilleRefusedError extends Error {
  override readonly name = 'ReveilleRefusedError';
  readonly code: number;
  readonly requestId: string;

  constructor(code: number, message: string, requestId: string) {
    super(`${message} (${code})`);
    this.code = code;
    this.requestId = requestId;
  }
}
