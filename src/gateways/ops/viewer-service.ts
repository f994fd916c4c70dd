/**
 * Routes for viewers, who come without the bearer token since a browser cannot bring it when a page is opened. A route asks
 * for a credential of its own and checks it itself; the name a viewer asks by is checked before.
 */
import type { OpsAnswer, OpsExchange } from './ops-exchange.ts';
import type { HttpRequest } from '../../lib/uws.ts';
import type { Log } from '../../core/ports/log.ts';

export interface ViewerRequest {
  readonly query: URLSearchParams;
  /** The credential after `Bearer`; null: there is none. */
  readonly bearer: string | null;
}

/** Answers GET alone: a HEAD must not use up a ticket that is good once. */
export interface ViewerRoute {
  readonly path: string;
  handle(request: ViewerRequest): Promise<OpsAnswer>;
}

/** Finds the route of a viewer's request and sends its answer. */
export class ViewerService {
  readonly #routes: ReadonlyMap<string, ViewerRoute>;
  readonly #log: Log;

  constructor(routes: readonly ViewerRoute[], log: Log) {
    this.#routes = new Map(routes.map((route) => [route.path, route]));
    this.#log = log;
  }

  /** Null: no viewer route has this path. */
  find(path: string): ViewerRoute | null {
    return this.#routes.get(path) ?? null;
  }

  /** Within the front end's handler. */
  handle(exchange: OpsExchange, method: string, route: ViewerRoute, request: HttpRequest): void {
    if (method !== 'GET')
      return exchange.answerJson(405, { error: 'method not allowed' }, { headers: { Allow: 'GET' } });
    route.handle(copyRequest(request)).then(
      (answer) => exchange.answer(answer),
      (error: unknown) => {
        this.#log.error({ err: error, path: route.path }, 'a page could not be answered');
        exchange.answerJson(500, { error: 'internal error' });
      },
    );
  }
}

const bearerForm = /^bearer +([\x21-\x7e]+)$/i;

function copyRequest(request: HttpRequest): ViewerRequest {
  return {
    // Undefined where the path has no `?`.
    query: new URLSearchParams((request.getQuery() as string | undefined) ?? ''),
    bearer: bearerForm.exec(request.getHeader('authorization'))?.[1] ?? null,
  };
}
