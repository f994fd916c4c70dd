/**
 * A request copied out of the front end's memory, which is gone when its handler returns. Headers are walked, not
 * asked for: that alone tells a repeated header, and an empty one from an absent one.
 */
import type { HttpRequest } from '../../lib/uws.ts';

export interface IncomingRequest {
  /** As sent, case and all. */
  readonly method: string;
  /** As sent, without the query. */
  readonly path: string;
  /** As sent, without `?`; empty when there is none. */
  readonly query: string;
  /** Lower-case names, trimmed values; of a repeated header the last. */
  readonly headers: ReadonlyMap<string, string>;
  /** A header that must stand once stands twice: Authorization, X-Tg-*, Content-Type. */
  readonly repeatsSingleHeader: boolean;
  readonly repeatsRequestId: boolean;
  /** Why nobody can tell for sure where the request ends; null: all agree. */
  readonly framingFault: FramingFault | null;
}

/** Any Transfer-Encoding; a Content-Length that is repeated, or is not decimal digits. */
export type FramingFault = 'transfer-encoding' | 'content-length';

export function copyRequest(request: HttpRequest): IncomingRequest {
  const headers = new Map<string, string>();
  let repeatsSingleHeader = false;
  let repeatsRequestId = false;
  let repeatsLength = false;
  request.forEach((name, value) => {
    const known = headers.size;
    headers.set(name, value);
    if (headers.size > known) return;
    if (name === 'x-request-id') repeatsRequestId = true;
    else if (name === 'content-length') repeatsLength = true;
    else if (mustStandOnce(name)) repeatsSingleHeader = true;
  });
  return {
    method: request.getCaseSensitiveMethod(),
    path: request.getUrl(),
    query: request.getQuery() ?? '',
    headers,
    repeatsSingleHeader,
    repeatsRequestId,
    framingFault: framingFault(headers, repeatsLength),
  };
}

function framingFault(headers: ReadonlyMap<string, string>, repeatsLength: boolean): FramingFault | null {
  if (headers.has('transfer-encoding')) return 'transfer-encoding';
  const length = headers.get('content-length');
  if (length === undefined) return null;
  return repeatsLength || !/^\d+$/.test(length) ? 'content-length' : null;
}

function mustStandOnce(name: string): boolean {
  return name === 'authorization' || name === 'content-type' || name.startsWith('x-tg-');
}

/** Of a request without a framing fault. */
export function hasBody(request: IncomingRequest): boolean {
  const length = request.headers.get('content-length');
  return length !== undefined && Number(length) > 0;
}
