/**
 * Checks every request in the contractual order: path, method, body size, signature, Content-Type, permission. The core then
 * charges the application's rate limit and runs the endpoint's own checks. Continues within one turn unless it has to wait.
 * Source: decisions.md, HTTP and Order of checks.
 */
import type { HttpConnections } from '../../lib/connections/http-connections.ts';
import type { Log } from '../../lib/log.ts';
import type { Result } from '../../lib/result.ts';
import { refusal, type TransportCode } from '../../model/codes.ts';
import {
  bodiesVerifyingBytesMax,
  smallBodyBytesMax,
  unprovedBodiesBytesMax,
} from '../../model/http-limits.ts';
import { hasPermission } from '../../model/registry.ts';
import { canonicalPath } from '../../protocol/tgv1/signature.ts';
import { isContentType } from '../../protocol/rest/content-type.ts';
import { encodeEnvelope } from '../../protocol/rest/shared-fields.ts';
import type { ApiRequest, BodyRead } from './api-request.ts';
import type { Authentication, AuthenticationFailure, Authenticator } from './authenticator.ts';
import type { CallDispatcher } from './dispatcher.ts';
import {
  refuse,
  refusePermission,
  routesByPath,
  statusOf,
  unverified,
  type ParseRules,
  type Reply,
  type Route,
} from './route.ts';
import { UnprovedBodies } from './unproved-bodies.ts';

export interface PipelineDeps {
  readonly routes: readonly Route[];
  readonly rules: ParseRules;
  readonly authenticator: Authenticator;
  readonly dispatcher: CallDispatcher;
  readonly log: Log;
  readonly connections: Pick<HttpConnections, 'proven' | 'mayKeepOpen' | 'isCrowded' | 'onFull'>;
  /** True during the drain: answers close their connections. */
  isDraining(): boolean;
}

export class Pipeline {
  readonly #deps: PipelineDeps;
  readonly #routes: ReadonlyMap<string, readonly Route[]>;
  readonly #bodies = new UnprovedBodies({
    bytesMax: unprovedBodiesBytesMax,
    verifyingBytesMax: bodiesVerifyingBytesMax,
  });

  constructor(deps: PipelineDeps) {
    this.#deps = deps;
    this.#routes = routesByPath(deps.routes);
    deps.connections.onFull(() => this.#bodies.evict());
  }

  readonly handle = (request: ApiRequest): void => {
    const routes = this.#routes.get(canonicalPath(request.path));
    const first = routes?.[0] ?? null;
    const route = routes?.find(({ method }) => method === request.method);
    request.identify((route ?? first)?.acceptsRequestId === true);
    if (request.framingFault !== null)
      return this.#refuseTransport(request, route ?? first, request.framingFault);
    if (routes === undefined || first === null) return this.#refuseTransport(request, null, 40400);
    if (route === undefined)
      return this.#refuseTransport(request, first, 40500, routes.map(({ method }) => method).join(', '));
    if (request.bodyBytes === 0) return this.#authenticate(request, route);
    if (request.bodyBytes > route.bodyBytesMax) return this.#refuseTransport(request, route, 41300);
    request.detach();
    if (request.bodyBytes > smallBodyBytesMax || this.#deps.connections.isCrowded)
      return this.#readCostly(request, route);
    request.readBody(route.bodyBytesMax, (result) => {
      if (result === 'too-large') this.#refuseTransport(request, route, 41300);
      else if (result === 'read') this.#authenticate(request, route);
    });
  };

  /** Buffers a body only if the headers are plausible; it is evicted if memory is short. */
  #readCostly(request: ApiRequest, route: Route): void {
    const failure = this.#deps.authenticator.precheck(request);
    const bytes = failure === null ? request.bodyBytes : 0;
    const body = this.#bodies.enter(request.remoteAddress(), bytes, () => {
      if (request.isOpen) this.#refuse(request, route, unverified(route), true);
    });
    const leave = (): void => this.#bodies.leave(body);
    const done = (result: BodyRead): void => {
      if (result === 'read' && failure === null)
        // Continues in a later turn, so that one turn verifies no more than may be verified concurrently.
        return this.#bodies.await(body, () => this.#authenticate(request, route, () => setImmediate(leave)));
      leave();
      if (result === 'too-large') this.#refuseTransport(request, route, 41300);
      else if (failure !== null && request.isOpen) this.#turnAway(request, route, failure);
    };
    request.readBody(route.bodyBytesMax, done, failure === null);
  }

  #authenticate(request: ApiRequest, route: Route, verified?: () => void): void {
    const authentication = this.#deps.authenticator.authenticate(request, (settled) => {
      verified?.();
      this.#admit(request, route, settled);
    });
    if (authentication === null) return request.detach();
    verified?.();
    this.#admit(request, route, authentication);
  }

  #admit(request: ApiRequest, route: Route, authentication: Authentication): void {
    if (!request.isOpen) return;
    if (authentication !== 'authentic') return this.#turnAway(request, route, authentication);
    this.#deps.connections.proven(request);
    if (expectsJson(route) && !isContentType(request.headers.get('content-type'), 'application/json'))
      return this.#refuseTransport(request, route, 41500);
    if (!hasPermission(request.credential, route.permission))
      return this.#refuse(request, route, refusePermission(route.permission));
    this.#dispatch(request, route);
  }

  #turnAway(request: ApiRequest, route: Route, failure: AuthenticationFailure): void {
    if (failure === 'unavailable') return this.#refuse(request, route, unverified(route));
    const { reason, message, data } = failure;
    const reply = { code: 40105, message, data } as const;
    this.#deps.dispatcher.refused({ route, status: 401, reply, authFailure: reason }, request);
    this.#send(request, route, 401, reply, { closeConnection: true });
  }

  #dispatch(request: ApiRequest, route: Route): void {
    const params = this.#parse(request, route);
    if (params === null) return this.#refuse(request, route, refuse(refusal(50000)));
    const reply = this.#deps.dispatcher.dispatch(route, params, request);
    if (!(reply instanceof Promise)) return this.#answer(request, route, reply);
    request.detach();
    void reply.then((settled) => this.#answer(request, route, settled));
  }

  /** Null: the parser threw, which is a programming error. */
  #parse(request: ApiRequest, route: Route): Result<unknown, string> | null {
    try {
      return route.parse(request, this.#deps.rules);
    } catch (error) {
      this.#deps.log.error(
        { err: error, request_id: request.requestId.id },
        'request: failed; answered 50000',
      );
      return null;
    }
  }

  #answer(request: ApiRequest, route: Route, reply: Reply): void {
    const { retryAfterS, code } = reply;
    this.#send(request, route, statusOf(route, code), reply, {
      retryAfterS,
      closeConnection: code === 40105,
    });
  }

  #refuse(request: ApiRequest, route: Route, reply: Reply, closeConnection = false): void {
    const status = statusOf(route, reply.code);
    const retryAfterS = route.statusFromCode ? reply.retryAfterS : undefined;
    this.#deps.dispatcher.refused({ route, status, reply }, request);
    this.#send(request, route, status, reply, { retryAfterS, closeConnection });
  }

  /**
   * Refuses before the endpoint's checks, with the HTTP status of the code on every path. Closes the connection if this request has
   * no valid signature.
   */
  #refuseTransport(request: ApiRequest, route: Route | null, code: TransportCode, allow?: string): void {
    const status = Math.floor(code / 100);
    const reply = refuse(refusal(code));
    const closeConnection = code !== 41500;
    this.#deps.dispatcher.refused({ route, status, reply }, request);
    this.#send(request, route, status, reply, { allow, closeConnection });
  }

  #send(
    request: ApiRequest,
    route: Route | null,
    status: number,
    reply: Reply,
    extra: { allow?: string | undefined; retryAfterS?: number | undefined; closeConnection?: boolean },
  ): void {
    const { code, message, data, repeatOf } = reply;
    request.answer({
      status,
      body: encodeEnvelope(route?.envelope ?? 'plain', code, message, request.requestId.id, data),
      allow: extra.allow,
      repeatOf,
      retryAfterS: extra.retryAfterS,
      closeConnection: extra.closeConnection === true || this.#deps.isDraining() || !this.#keeps(request),
    });
  }

  /** True: the connection may stay open after the answer. */
  #keeps({ provenAppId }: ApiRequest): boolean {
    return provenAppId === null || this.#deps.connections.mayKeepOpen(provenAppId);
  }
}

/** Other methods may have a body; it is hashed for the signature and otherwise ignored. */
function expectsJson({ method }: Route): boolean {
  return method === 'POST' || method === 'PATCH';
}
