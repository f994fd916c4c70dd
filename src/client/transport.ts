/** How a signed request gets to a server and a reply back: over HTTP, or in a test from a script. */
import type { IncomingHttpHeaders } from 'node:http';

export interface WireRequest {
  readonly method: string;
  /** Path and query, as they were signed. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
  /** From now to the last byte of the reply. */
  readonly deadlineMs: number;
  /** It waits for something to happen: it must not stand in the way of others. */
  readonly isLongPoll: boolean;
  readonly signal: AbortSignal;
}

export interface WireReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

export interface Transport {
  /**
   * Sends it once. Rejects with a ReveilleUnreachableError when no reply came in time, with a ReveilleProtocolError
   * when it is too large, and with the reason of the signal when that is aborted.
   */
  send(request: WireRequest): Promise<WireReply>;
  /** Closes the connections that wait for a next request. */
  close(): void;
}
