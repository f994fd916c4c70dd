/** What guests may ask, behind the check of the name they ask by: finds the route and sends what it says. */
import type { HttpRequest } from '../../lib/uws.ts';
import type { Log } from '../../core/ports/log.ts';
import type { ViewerRequest, ViewerRoute } from './viewer-route.ts';
import type { OpsExchange } from '../ops/ops-exchange.ts';

export class ViewerService {
  readonly #routes: ReadonlyMap<string, ViewerRoute>;
  readonly #log: Log;

  constructor(routes: readonly ViewerRoute[], log: Log) {
    this.#routes = new Map(routes.map((route) => [route.path, route]));
    this.#log = log;
  }

  /** Null: the path is none of theirs. */
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
