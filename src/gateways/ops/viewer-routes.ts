/** Pages for a viewer, who has a ticket or the key of a page instead of an operator's credential. */
import type { FastifyInstance } from 'fastify';
import { findBearer } from './operators.ts';
import { queryOf, remoteOf } from './ops-admission.ts';
import type { RefusedCredentials } from './refused-credentials.ts';

export interface ViewerRequest {
  readonly query: URLSearchParams;
  /** The credential after `Bearer`; null: there is none. */
  readonly bearer: string | null;
}

export interface ViewerAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers GET alone: a HEAD must not use up a ticket that is good once. */
export interface ViewerRoute {
  readonly path: string;
  handle(request: ViewerRequest): Promise<ViewerAnswer>;
}

export function addViewerRoutes(
  app: FastifyInstance,
  routes: readonly ViewerRoute[],
  refusals: Pick<RefusedCredentials, 'record'>,
): void {
  for (const route of routes)
    app.get(route.path, { exposeHeadRoute: false, config: { access: 'page' } }, async (request, reply) => {
      const bearer = findBearer(request.headers.authorization ?? '');
      const {
        status,
        contentType,
        body,
        headers = {},
      } = await route.handle({ query: queryOf(request), bearer });
      if (status === 401) refusals.record('ticket', remoteOf(request));
      return reply.code(status).type(contentType).headers(headers).send(body);
    });
}
