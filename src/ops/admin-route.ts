/** What an administrative route says of itself; the listener does the rest. */

export interface AdminRequest {
  readonly query: URLSearchParams;
  /** Parsed JSON; undefined when the request has none. */
  readonly body: unknown;
}

export interface AdminReply {
  readonly status: number;
  /** Sent as JSON. */
  readonly body: unknown;
}

export type AdminMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface AdminRoute {
  readonly method: AdminMethod;
  readonly path: string;
  handle(request: AdminRequest): Promise<AdminReply>;
}

/** A route that takes a body of any size up to the limit, and tells how far it is, line by line. */
export interface UploadRoute {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  /**
   * `spoolFile` holds the whole body and is gone after the last line. Each item is sent as a line of JSON. When
   * the caller hangs up the iteration is ended where it stands.
   */
  upload(request: Pick<AdminRequest, 'query'>, spoolFile: string): AsyncIterable<unknown>;
}
