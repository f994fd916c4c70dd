/** Errors thrown by calls. None contains a secret, a signature or the body of a response. */

/** The server did not respond, or not in time. */
export class ReveilleUnreachableError extends Error {
  override readonly name = 'ReveilleUnreachableError';
  declare readonly cause: NodeJS.ErrnoException;
  readonly origin: string;
  /** False: the request was not sent. True: the server may have processed it. */
  readonly mayHaveArrived: boolean;

  constructor(origin: string, mayHaveArrived: boolean, cause: NodeJS.ErrnoException) {
    super(`no answer from ${origin}: ${reasonOf(cause)}`, { cause });
    this.origin = origin;
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** Node's error for a host whose addresses all failed has an empty message. */
function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  return code === 'ECONNREFUSED' ? 'nothing listens there' : message || (code ?? 'unknown');
}

/** The response is not one of the API: it comes from another server, or from a proxy in front. */
export class ReveilleProtocolError extends Error {
  override readonly name = 'ReveilleProtocolError';
  readonly origin: string;
  readonly status: number;
  /** The value of `Retry-After`; null: absent. */
  readonly retryAfterS: number | null;

  constructor(origin: string, status: number, found: string, retryAfterS: number | null = null) {
    super(`${origin} does not answer as the API does: HTTP ${status}, ${found}`);
    this.origin = origin;
    this.status = status;
    this.retryAfterS = retryAfterS;
  }

  /** A proxy got no response from the server, which may have processed the request. */
  get isOfGateway(): boolean {
    return this.status >= 502 && this.status <= 504;
  }
}

/** Following events or listing devices ended with a refusal that a retry cannot change. */
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
