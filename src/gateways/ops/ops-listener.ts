/**
 * The operators' front end: probes and metrics for everybody who can reach it, administration for a caller with a token or a
 * session of the console, the console itself, pages for a viewer with a ticket. It stays up while the server drains, so that a probe can see it.
 * Source: running.md, Processes and listeners, Probes.
 */
import { remoteAddress, plainAddress } from '../../lib/connections/address-key.ts';
import type { HttpConnections } from '../../lib/connections/http-connections.ts';
import { TurnBudget } from '../../lib/token-bucket.ts';
import {
  closeListenSocket,
  createApp,
  listenExclusively,
  type ListenSocket,
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
} from '../../lib/uws.ts';
import { answersPerTurnMax } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import type { AuditLog } from '../../storage/audit/audit-log.ts';
import { unexplainedFault } from '../../storage/lmdb/store-fault.ts';
import { AdminService } from './admin-service.ts';
import type { AdminRoute, UploadRoute } from './admin-route.ts';
import type { ConsoleService } from '../console/console-service.ts';
import {
  CallerCheck,
  noCookieSessions,
  type CallerRefusal,
  type CookieSessions,
  type Operators,
} from './operators.ts';
import type { LoopProgress } from '../../telemetry/loop-progress.ts';
import type { Exposition } from '../../telemetry/metrics.ts';
import { OpsExchange, type OpsAnswer } from './ops-exchange.ts';
import type { RefusedCredentials } from './refused-credentials.ts';
import type { Readiness } from '../../telemetry/readiness.ts';

export interface OpsListenerDeps {
  readonly metrics: Exposition;
  readonly readiness: Readiness;
  readonly progress: LoopProgress;
  readonly routes: readonly (AdminRoute | UploadRoute)[];
  readonly viewerRoutes: readonly ViewerRoute[];
  readonly operators: Operators;
  /** Null: it is off. */
  readonly console: Console | null;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly log: Log;
  readonly connections: HttpConnections;
}

/** The page for operators, and the sessions of those who have logged in to it. */
export interface Console {
  readonly sessions: CookieSessions;
  readonly service: Pick<ConsoleService, 'has' | 'handle'>;
}

export interface OpsListenerSettings {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Host names that requests for administration may use, beside the loopback ones and `host`. */
  readonly hosts: readonly string[];
  /** The directory of uploads while they are used; this listener's alone, and emptied when it starts. */
  readonly spoolDirectory: string;
}

export class OpsListener {
  readonly #deps: OpsListenerDeps;
  readonly #settings: OpsListenerSettings;
  readonly #check: CallerCheck;
  readonly #service: AdminService;
  readonly #viewers: ViewerService;
  readonly #app: TemplatedApp;
  readonly #budget = new TurnBudget(answersPerTurnMax);
  #listening: ListenSocket | null = null;

  constructor(deps: OpsListenerDeps, settings: OpsListenerSettings) {
    this.#deps = deps;
    this.#settings = settings;
    const names = [settings.host, ...settings.hosts];
    this.#check = new CallerCheck(deps.operators, names, deps.console?.sessions ?? noCookieSessions);
    this.#service = new AdminService({ ...deps, spoolDirectory: settings.spoolDirectory });
    this.#viewers = new ViewerService(deps.viewerRoutes, deps);
    this.#app = deps.connections
      .watch(createApp())
      .any('/*', (response, request) => this.#handle(response, request));
  }

  /** Has the real port once it listens. */
  get address(): { readonly host: string; readonly port: number } {
    const { host, port } = this.#settings;
    return { host, port: this.#listening?.port ?? port };
  }

  /**
   * Resolves to the real port. Rejects when the address is taken, the tokens cannot be read, or the spool directory cannot be
   * made.
   */
  async listen(): Promise<number> {
    await this.#deps.operators.open();
    await this.#service.open();
    this.#listening = await listenExclusively(this.#app, this.#settings.host, this.#settings.port);
    return this.#listening.port;
  }

  /** Ends every connection, answered or not. */
  close(): void {
    if (this.#listening !== null) closeListenSocket(this.#listening.socket);
    this.#listening = null;
    this.#app.close();
  }

  #handle(response: HttpResponse, request: HttpRequest): void {
    const { connections, progress, readiness } = this.#deps;
    if (!connections.reached(response)) return;
    progress.advance();
    // The front end lowers the case in place once asked for the other method.
    const method = request.getCaseSensitiveMethod();
    const endsConnection = (): boolean => readiness.isDraining() || connections.isCrowded;
    const exchange = new OpsExchange(response, method, this.#budget, endsConnection);
    const path = request.getUrl();
    if (isOpenPath(path)) return this.#answerOpen(exchange, method, path);
    const caller = {
      host: request.getHeader('host'),
      origin: request.getHeader('origin'),
      authorization: request.getHeader('authorization'),
      cookie: request.getHeader('cookie'),
      csrf: request.getHeader('x-reveille-csrf'),
    };
    const from = plainAddress(remoteAddress(response));
    const { console: page } = this.#deps;
    if (page?.service.has(path) === true) {
      const refusal = this.#check.refuseViewer(caller);
      if (refusal !== null) return refuseCaller(exchange, refusal);
      return page.service.handle(exchange, { caller, method, path, from }, request);
    }
    const viewerRoute = this.#viewers.find(path);
    if (viewerRoute !== null) {
      const refusal = this.#check.refuseViewer(caller);
      if (refusal !== null) return refuseCaller(exchange, refusal);
      return this.#viewers.handle(exchange, { method, from }, viewerRoute, request);
    }
    const admitted = this.#check.admit(caller);
    if (!admitted.ok) {
      if (admitted.error.status === 401 && caller.authorization !== '')
        this.#deps.refusals.record('token', from);
      return refuseCaller(exchange, admitted.error);
    }
    connections.proven({ remoteAddress: () => from });
    const holds = (): boolean => this.#check.admit(caller).ok;
    this.#service.handle(exchange, { operator: admitted.value, from, holds }, method, path, request);
  }

  #answerOpen(exchange: OpsExchange, method: string, path: OpenPath): void {
    if (method !== 'GET' && method !== 'HEAD')
      return exchange.answerJson(405, { error: 'method not allowed' }, { headers: { Allow: 'GET, HEAD' } });
    if (path === '/livez') return exchange.answerJson(200, { live: true });
    if (path === '/metrics') return this.#answerMetrics(exchange);
    const { isReady: ready, reasons } = this.#deps.readiness;
    exchange.answerJson(ready ? 200 : 503, { ready, reasons });
  }

  #answerMetrics(exchange: OpsExchange): void {
    const { metrics, log } = this.#deps;
    metrics.expose().then(
      (body) => exchange.answer({ status: 200, contentType: metrics.contentType, body }),
      (error: unknown) => {
        log.error({ err: error }, 'metrics could not be read');
        exchange.answerJson(500, { error: unexplainedFault });
      },
    );
  }
}

const openPaths = ['/livez', '/readyz', '/metrics'] as const;
type OpenPath = (typeof openPaths)[number];

function isOpenPath(path: string): path is OpenPath {
  return openPaths.some((open) => open === path);
}

function refuseCaller(exchange: OpsExchange, { status, message }: CallerRefusal): void {
  const headers: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  exchange.answerJson(status, { error: message }, { headers, closeConnection: true });
}

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
  readonly #deps: Pick<OpsListenerDeps, 'log' | 'refusals'>;

  constructor(routes: readonly ViewerRoute[], deps: Pick<OpsListenerDeps, 'log' | 'refusals'>) {
    this.#routes = new Map(routes.map((route) => [route.path, route]));
    this.#deps = deps;
  }

  /** Null: no viewer route has this path. */
  find(path: string): ViewerRoute | null {
    return this.#routes.get(path) ?? null;
  }

  /** Within the front end's handler. */
  handle(
    exchange: OpsExchange,
    { method, from }: { readonly method: string; readonly from: string },
    route: ViewerRoute,
    request: HttpRequest,
  ): void {
    if (method !== 'GET')
      return exchange.answerJson(405, { error: 'method not allowed' }, { headers: { Allow: 'GET' } });
    route.handle(copyRequest(request)).then(
      (answer) => {
        if (answer.status === 401) this.#deps.refusals.record('ticket', from);
        exchange.answer(answer);
      },
      (error: unknown) => {
        this.#deps.log.error({ err: error, path: route.path }, 'a page could not be answered');
        exchange.answerJson(500, { error: unexplainedFault });
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
