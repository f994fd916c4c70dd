/** One request on the wire, and how it ended. The whole answer is waited for, or as much of it as is read. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { answerBytesMax } from '../delivery/limits.ts';

export type AttemptEnd =
  | { readonly kind: 'answered'; readonly status: number }
  /** `isStale`: the receiver had closed a kept connection before the request reached it. */
  | { readonly kind: 'broken'; readonly reason: string; readonly isStale: boolean };

export class HttpAttempt {
  /** Never rejects. */
  readonly ended: Promise<AttemptEnd>;
  readonly #request: ClientRequest;
  #brokeOff = 'the connection was closed without an answer';
  #settle: (end: AttemptEnd) => void = () => undefined;

  /** `request` is not sent yet. */
  constructor(request: ClientRequest, body: Buffer) {
    this.#request = request;
    this.ended = new Promise((resolve) => {
      this.#settle = resolve;
    });
    request.on('response', (response) => this.#read(response));
    request.on('error', (error: NodeJS.ErrnoException) =>
      this.#break(describeTransportError(error), isReset(error)),
    );
    // Also where the receiver wants to speak another protocol.
    request.on('close', () => this.#break(this.#brokeOff, false));
    request.end(body);
  }

  /** Ends it where it stands; does nothing when it has ended. */
  abort(reason: string): void {
    this.#break(reason, false);
    this.#request.destroy();
  }

  /** Only the first of its ends counts. */
  #break(reason: string, isReset: boolean): void {
    this.#settle({ kind: 'broken', reason, isStale: isReset && this.#request.reusedSocket });
  }

  #read(response: IncomingMessage): void {
    const status = response.statusCode ?? 0;
    this.#brokeOff = `the answer (${status}) broke off`;
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= answerBytesMax) return;
      this.#settle({ kind: 'answered', status });
      this.#request.destroy();
    });
    response.on('end', () => this.#settle({ kind: 'answered', status }));
    response.on('error', () => this.#break(this.#brokeOff, false));
  }
}

function isReset({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE';
}

const untrusted: ReadonlySet<unknown> = new Set([
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export function describeTransportError(error: NodeJS.ErrnoException): string {
  if (untrusted.has(error.code))
    return `the receiver's certificate is not trusted (${error.code}); name its authority's file in NODE_EXTRA_CA_CERTS`;
  // One for each address that was tried.
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error];
  return causes.map(({ message }) => message).join('; ') || (error.code ?? 'the connection failed');
}
