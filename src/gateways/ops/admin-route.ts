/** What an administrative route says of itself; the listener does the rest. */
import type { AuditAction, AuditId } from '../../model/audit.ts';

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

/** What the audit log has of a change. */
export interface AuditTerms {
  readonly action: AuditAction;
  /** Taken from the body, of an upload from the query, by the same names. */
  readonly asked?: readonly AuditId[];
  /** Taken from the body of the answer, each from where it stands there: `credential.access_key_id`. */
  readonly answered?: Readonly<Partial<Record<AuditId, string>>>;
}

interface BaseRoute {
  readonly path: string;
  handle(request: AdminRequest): Promise<AdminReply>;
}

/** Changes nothing: a viewer may ask, too. */
export interface ReadRoute extends BaseRoute {
  readonly method: 'GET';
}

export interface ChangeRoute extends BaseRoute {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly audit: AuditTerms;
}

export type AdminRoute = ReadRoute | ChangeRoute;

/** A route that takes a body of any size up to the limit, and tells how far it is, line by line. */
export interface UploadRoute {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly audit: AuditTerms;
  /** `spoolFile` holds the whole body and is gone when all of it is over. */
  upload(request: Pick<AdminRequest, 'query'>, spoolFile: string): Upload;
}

export interface Upload {
  /** Each is sent as a line of JSON. When the caller hangs up the iteration is ended where it stands. */
  readonly lines: AsyncIterable<unknown>;
  /** How it ended, also for a caller that has hung up. Its body is the last line; undefined: there is none. */
  readonly ended: Promise<AdminReply>;
}
