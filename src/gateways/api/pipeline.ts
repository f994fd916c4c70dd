/**
 * What happens to every request, in the order that is contract: path, method, body size, signature, Content-Type,
 * permission, how often the application may ask, then the endpoint's own. Stays in one turn when nothing has to be waited for.
 * Source: decisions.md, HTTP and Order of checks.
 */
import type { Clock } from '../../lib/clock.ts';
import type { HttpConnections } from '../../lib/http-connections.ts';
import { TurnBudget } from '../../lib/turn-budget.ts';
import type { HttpRequest, HttpResponse } from '../../lib/uws.ts';
import { overload, refusal, type Code, type TransportCode } from '../../model/codes.ts';
import { generateRequestId, parseRequestId } from '../../model/ids.ts';
import { answersPerTurnMax } from '../../model/limits.ts';
import { holdsPermission } from '../../model/registry.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import { isJsonContentType, encodeEnvelope, type EnvelopeShape } from '../../protocol/rest/shared-fields.ts';
import { AdmittedCall } from './admitted-call.ts';
import type { Authentic, Authentication, Authenticator } from './authenticator.ts';
import { announcesTooMuch, readBody } from './body-reader.ts';
import { Exchange } from './exchange.ts';
import { copyRequest, hasBody, type FramingFault, type IncomingRequest } from './incoming-request.ts';
import type { RouteTable } from './route-table.ts';
import { refuse, type Reply, type RequestIdentity, type Route } from './route.ts';

export interface PipelineDeps {
  readonly routes: RouteTable;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly log: Log;
  readonly connections: Pick<HttpConnections, 'proven'>;
  /** True while the server is being stopped: connections are closed with their answers. */
  isDraining(): boolean;
}

/** One request on its way. */
interface RequestContext {
  readonly exchange: Exchange;
  readonly incoming: IncomingRequest;
  readonly requestId: RequestIdentity;
  readonly startedMs: number;
}

/** Two that read such a request differently could be made to see two requests. Source: decisions.md, HTTP. */
const framingCodes: Readonly<Record<FramingFault, TransportCode>> = {
  'transfer-encoding': 41100,
  'content-length': 40000,
};

const emptyBody = new Uint8Array(0);

export class Pipeline {
  readonly #deps: PipelineDeps;
  readonly #budget = new TurnBudget(answersPerTurnMax);
  #underWay = 0;
  #idle: (() => void) | null = null;
  readonly #requestEnded = (): void => {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#idle?.();
  };

  constructor(deps: PipelineDeps) {
    this.#deps = deps;
  }

  /** Resolves when no request is waiting for its answer. */
  async idle(): Promise<void> {
    while (this.#underWay > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
  }

  handle(response: HttpResponse, request: HttpRequest): void {
    this.#underWay += 1;
    const exchange = new Exchange(response, this.#budget, this.#requestEnded);
    const startedMs = this.#deps.clock.monotonicMs();
    const incoming = copyRequest(request);
    const routes = this.#deps.routes.find(trimSpaces(incoming.path));
    const first = routes?.[0];
    const route = routes?.find(({ method }) => method === incoming.method);
    const requestId = identify(incoming, (route ?? first)?.takesRequestId === true);
    const passage: RequestContext = { exchange, incoming, requestId, startedMs };
    if (incoming.framingFault !== null)
      return this.#refuseTransport(passage, first ?? null, framingCodes[incoming.framingFault]);
    if (routes === null || first === undefined) return this.#refuseTransport(passage, null, 40400);
    if (route === undefined)
      return this.#refuseTransport(passage, first, 40500, routes.map(({ method }) => method).join(', '));
    if (!hasBody(incoming)) return this.#authenticate(passage, route, emptyBody);
    if (announcesTooMuch(incoming.headers.get('content-length')))
      return this.#refuseTransport(passage, route, 41300);
    exchange.detach();
    readBody(exchange, this.#deps.clock, (body) => {
      if (body === 'too-large') this.#refuseTransport(passage, route, 41300);
      else this.#authenticate(passage, route, body);
    });
  }

  #authenticate(passage: RequestContext, route: Route, body: Uint8Array): void {
    const authentication = this.#deps.authenticator.authenticate(passage.incoming, body, (settled) =>
      this.#admit(passage, route, body, settled),
    );
    if (authentication === null) passage.exchange.detach();
    else this.#admit(passage, route, body, authentication);
  }

  #admit(passage: RequestContext, route: Route, body: Uint8Array, authentication: Authentication): void {
    if (!passage.exchange.isOpen) return;
    if (authentication.kind !== 'authentic') return this.#turnAway(passage, route, authentication);
    this.#deps.connections.proven(passage.exchange);
    if (route.method === 'POST' && !isJsonContentType(passage.incoming.headers.get('content-type')))
      return this.#refuseTransport(passage, route, 41500);
    if (!holdsPermission(authentication.credential, route.permission))
      return this.#reply(passage, route, refuse(refusal(40301)));
    const waitMs = route.limit?.take(authentication.credential.appId) ?? 0;
    if (waitMs > 0) return this.#refuseOverload(passage, route, waitMs);
    this.#call(passage, route, authentication, body);
  }

  #turnAway(passage: RequestContext, route: Route, authentication: Exclude<Authentication, Authentic>): void {
    if (authentication.kind === 'unavailable') return this.#reply(passage, route, unverified(route));
    this.#deps.telemetry.authFailure(authentication.reason);
    const { message, data } = authentication;
    const reply = { code: 40105, message, data } as const;
    this.#send(passage, route.name, route.envelope, 401, reply, { closeConnection: true });
  }

  #call(passage: RequestContext, route: Route, authentic: Authentic, body: Uint8Array): void {
    const { exchange, incoming, requestId } = passage;
    try {
      const reply = route.handle(new AdmittedCall(authentic, incoming.query, body, requestId, exchange));
      if (!(reply instanceof Promise)) return this.#reply(passage, route, reply);
      exchange.detach();
      reply.then(
        (settled) => this.#replyLate(passage, route, authentic, settled),
        (error: unknown) => this.#fault(passage, route, error),
      );
    } catch (error) {
      this.#fault(passage, route, error);
    }
  }

  /** Who lost the right while the answer was waited for is not given it. */
  #replyLate(passage: RequestContext, route: Route, authentic: Authentic, reply: Reply): void {
    if (route.asksAgain !== true) return this.#reply(passage, route, reply);
    const authentication = this.#deps.authenticator.again(authentic);
    if (authentication.kind !== 'authentic') return this.#turnAway(passage, route, authentication);
    const isPermitted = holdsPermission(authentication.credential, route.permission);
    this.#reply(passage, route, isPermitted ? reply : refuse(refusal(40301)));
  }

  #fault(passage: RequestContext, route: Route, error: unknown): void {
    this.#deps.log.error({ err: error, request_id: passage.requestId.id }, 'a request failed');
    this.#reply(passage, route, refuse(refusal(50000)));
  }

  #reply(passage: RequestContext, route: Route, reply: Reply): void {
    const status = statusOf(route, reply.code);
    const retryAfterS = route.statusFromCode ? reply.retryAfterS : undefined;
    this.#send(passage, route.name, route.envelope, status, reply, { retryAfterS });
  }

  /** An application that asks too often is told when to come again, whatever the HTTP status. */
  #refuseOverload(passage: RequestContext, route: Route, waitMs: number): void {
    const { retryAfterS, ...reply } = refuse(overload(waitMs));
    const status = statusOf(route, reply.code);
    this.#send(passage, route.name, route.envelope, status, reply, { retryAfterS });
  }

  /**
   * Before an endpoint's own rules: the HTTP status says it on every path. A connection that has shown no valid signature
   * with its request ends with the answer.
   */
  #refuseTransport(passage: RequestContext, route: Route | null, code: TransportCode, allow?: string): void {
    const status = Math.floor(code / 100);
    const reply = refuse(refusal(code));
    const closeConnection = code !== 41500;
    this.#send(passage, route?.name ?? 'none', route?.envelope ?? 'plain', status, reply, {
      allow,
      closeConnection,
    });
  }

  #send(
    passage: RequestContext,
    routeName: string,
    shape: EnvelopeShape,
    status: number,
    reply: Reply,
    extra?: { allow?: string | undefined; retryAfterS?: number | undefined; closeConnection?: boolean },
  ): void {
    const { exchange, incoming, requestId, startedMs } = passage;
    const { code, message, data } = reply;
    exchange.answer({
      status,
      body: encodeEnvelope(shape, code, message, requestId.id, data),
      requestId: requestId.id,
      allow: extra?.allow,
      retryAfterS: extra?.retryAfterS,
      closeConnection: extra?.closeConnection === true || this.#deps.isDraining(),
      withoutBody: incoming.method === 'HEAD',
    });
    const seconds = (this.#deps.clock.monotonicMs() - startedMs) / 1000;
    this.#deps.telemetry.httpRequest(routeName, status, code, seconds);
  }
}

function unverified({ unverifiedCode }: Route): Reply {
  const message = 'signatures cannot be verified now';
  return { code: unverifiedCode ?? 50301, message, data: null, retryAfterS: 1 };
}

function statusOf(route: Route, code: Code): number {
  if (code === 0) return route.successStatus;
  return route.statusFromCode ? Math.floor(code / 100) : 200;
}

/** The effective request id is fixed first, so that every answer carries it. Source: API doc, Endpoint 2. */
function identify(incoming: IncomingRequest, takesRequestId: boolean): RequestIdentity {
  const given = takesRequestId ? incoming.headers.get('x-request-id') : undefined;
  if (given === undefined) return { id: generateRequestId(), origin: 'absent' };
  const parsed = incoming.repeatsRequestId ? null : parseRequestId(given);
  return parsed === null ? { id: generateRequestId(), origin: 'invalid' } : { id: parsed, origin: 'caller' };
}

/** What HTTP trims, and no more: other white space is part of a path that is nobody's. */
function trimSpaces(path: string): string {
  return path.startsWith(' ') || path.endsWith(' ') ? path.replace(/^ +| +$/g, '') : path;
}
