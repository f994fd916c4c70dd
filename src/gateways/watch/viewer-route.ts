/**
 * A route for who comes without the bearer token, since a browser cannot bring it when a page is opened. It asks for a
 * credential of its own, and judges it itself.
 */
import type { OpsAnswer } from '../ops/ops-exchange.ts';

export interface ViewerRequest {
  readonly query: URLSearchParams;
  /** What stands behind `Bearer`; null: nothing does. */
  readonly bearer: string | null;
}

/** Of GET alone: a HEAD must not use up what is good once. */
export interface ViewerRoute {
  readonly path: string;
  handle(request: ViewerRequest): Promise<OpsAnswer>;
}
