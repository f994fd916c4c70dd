/**
 * Takes every request through its checks, in the order that is contract: path, method, body size, signature, Content-Type,
 * permission, how often the application may ask, then the endpoint's own. Stays in one turn when nothing has to be waited for.
 * Source: decisions.md, HTTP and Order of checks.
 */
import type { Clock } from '../../lib/clock.ts';
import type { HttpConnections } from '../../lib/connections/http-connections.ts';
import { overload, refusal, type Code, type TransportCode } from '../../model/codes.ts';
import {
  bodiesVerifyingBytesMax,
  smallBodyBytesMax,
  unprovedBodiesBytesMax,
} from '../../model/http-limits.ts';
import { holdsPermission } from '../../model/registry.ts';
import type { Log } from '../../lib/log.ts';
import type { RequestLog } from '../../core/requests/request-log.ts';
import type { WakeupAnswered } from '../../core/wakeups/answered-wakeups.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { canonicalPath } from '../../protocol/tgv1/signature.ts';
import { isContentType } from '../../protocol/rest/content-type.ts';
import { encodeEnvelope } from '../../protocol/rest/shared-fields.ts';
import type { ApiRequest, BodyRead } from './api-request.ts';
import type { ApiServices } from './api-services.ts';
import type { Authentication, AuthenticationFailure, Authenticator } from './authenticator.ts';
import { refuse, refusePermission, routesByPath, type Reply, type Route } from './route.ts';
import { UnprovedBodies } from './unproved-bodies.ts';

export interface PipelineDeps {
  readonly routes: readonly Route[];
  readonly services: ApiServices;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly log: Log;
  readonly requestLog: RequestLog;
  readonly connections: Pick<HttpConnections, 'proven' | 'keeps' | 'isCrowded' | 'onFull'>;
  /** True while the server is being stopped: connections are closed with their answers. */
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
    request.identify((route ?? first)?.takesRequestId === true);
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

  /** A body is kept only for a request whose headers may be right, and yields where there is no room. */
  #readCostly(request: ApiRequest, route: Route): void {
    const failure = this.#deps.authenticator.precheck(request);
    const bytes = failure === null ? request.bodyBytes : 0;
    const body = this.#bodies.enter(request.remoteAddress(), bytes, () => {
      if (request.isOpen) this.#reply(request, route, unverified(route), true);
    });
    const leave = (): void => this.#bodies.leave(body);
    const done = (result: BodyRead): void => {
      if (result === 'read' && failure === null)
        // In a later turn, so that a turn verifies no more than may be verified at the same time.
        return this.#bodies.await(body, () => this.#authenticate(request, route, () => setImmediate(leave)));
      leave();
      if (result === 'too-large') this.#refuseTransport(request, route, 41300);
      else if (failure !== null && request.isOpen) this.#turnAway(request, route, failure);
    };
    request.readBody(route.bodyBytesMax, done, failure === null);
  }

  /** `verified` is called when the signature is no longer being verified. */
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
    if (takesBody(route) && !isContentType(request.headers.get('content-type'), 'application/json'))
      return this.#refuseTransport(request, route, 41500);
    if (!holdsPermission(request.credential, route.permission))
      return this.#reply(request, route, refusePermission(route.permission));
    const limit = route.limit === null ? null : this.#deps.services.limits[route.limit];
    const waitMs = limit?.take(request.credential.appId) ?? 0;
    if (waitMs > 0) return this.#refuseOverload(request, route, waitMs);
    this.#call(request, route);
  }

  #turnAway(request: ApiRequest, route: Route, failure: AuthenticationFailure): void {
    if (failure === 'unavailable') return this.#reply(request, route, unverified(route));
    this.#deps.telemetry.authFailure(failure.reason);
    const { message, data } = failure;
    const reply = { code: 40105, message, data } as const;
    this.#send(request, route, 401, reply, { closeConnection: true });
  }

  #call(request: ApiRequest, route: Route): void {
    try {
      const reply = route.handle(request, this.#deps.services);
      if (!(reply instanceof Promise)) return this.#reply(request, route, reply);
      request.detach();
      reply.then(
        (settled) => this.#replyLate(request, route, settled),
        (error: unknown) => this.#fault(request, route, error),
      );
    } catch (error) {
      this.#fault(request, route, error);
    }
  }

  /** A credential that lost the right while the answer was waited for is not given it. */
  #replyLate(request: ApiRequest, route: Route, reply: Reply): void {
    if (route.asksAgain !== true) return this.#reply(request, route, reply);
    const authentication = this.#deps.authenticator.again(request);
    if (authentication !== 'authentic') return this.#turnAway(request, route, authentication);
    const isPermitted = holdsPermission(request.credential, route.permission);
    this.#reply(request, route, isPermitted ? reply : refusePermission(route.permission));
  }

  #fault(request: ApiRequest, route: Route, error: unknown): void {
    this.#deps.log.error({ err: error, request_id: request.requestId.id }, 'a request failed');
    this.#reply(request, route, refuse(refusal(50000)));
  }

  #reply(request: ApiRequest, route: Route, reply: Reply, closeConnection = false): void {
    const status = statusOf(route, reply.code);
    const tellsWhen = route.statusFromCode || (route.tellsWhenToRetry === true && reply.code === 42901);
    const retryAfterS = tellsWhen ? reply.retryAfterS : undefined;
    this.#send(request, route, status, reply, { retryAfterS, closeConnection });
  }

  /** An application that asks too often learns when to retry, whatever the HTTP status. */
  #refuseOverload(request: ApiRequest, route: Route, waitMs: number): void {
    const { retryAfterS, ...reply } = refuse(overload(waitMs));
    const status = statusOf(route, reply.code);
    this.#send(request, route, status, reply, { retryAfterS });
  }

  /**
   * Before an endpoint's own rules: the HTTP status says it on every path. A connection that has shown no valid signature
   * with its request ends with the answer.
   */
  #refuseTransport(request: ApiRequest, route: Route | null, code: TransportCode, allow?: string): void {
    const status = Math.floor(code / 100);
    const reply = refuse(refusal(code));
    const closeConnection = code !== 41500;
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
    const { clock, telemetry, requestLog } = this.#deps;
    const seconds = (clock.monotonicMs() - request.startedMs) / 1000;
    const name = route?.name ?? 'none';
    if (request.isLongPoll) telemetry.longPoll(name, status, code, seconds);
    else telemetry.httpRequest(name, status, code, seconds);
    // Hot path: skip the record for successes that are not logged.
    if (code === 0 && !requestLog.hasSuccesses && route?.answered === undefined) return;
    const answered = answeredBy(request, reply, { route: name, status, seconds });
    if (route?.answered === undefined) requestLog.note(answered);
    else route.answered(answered, this.#deps.services);
  }

  /** The answer may leave the connection open. */
  #keeps({ provenAppId }: ApiRequest): boolean {
    return provenAppId === null || this.#deps.connections.keeps(provenAppId);
  }
}

function answeredBy(request: ApiRequest, reply: Reply, http: WakeupAnswered['http']): WakeupAnswered {
  return {
    http,
    requestId: request.requestId.id,
    appId: request.provenAppId,
    claimedAppId: request.headers.get('x-tg-app-id') ?? '',
    deviceId: request.deviceId,
    reply,
  };
}

/** Of the others a body is hashed for its signature, and not looked at. */
function takesBody({ method }: Route): boolean {
  return method === 'POST' || method === 'PATCH';
}

function unverified({ unverifiedCode }: Route): Reply {
  const message = 'signatures cannot be verified now';
  return { code: unverifiedCode ?? 50301, message, data: null, retryAfterS: 1 };
}

function statusOf(route: Route, code: Code): number {
  if (code === 0) return route.successStatus;
  return route.statusFromCode ? Math.floor(code / 100) : 200;
}
