/**
 * The operators' listener: probes and metrics without authentication, administration for a token or a console session, the
 * console, and the page of a call, which also viewers open with a ticket. It stays up during the drain, so that probes can
 * observe it.
 * Source: running.md, Processes and listeners, Probes.
 */
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import { BoundedServer, type BareAnswer } from '../../lib/connections/bounded-server.ts';
import {
  opsHeadBytesMax,
  opsIdleMsMax,
  opsRequestMsMax,
  opsRequestsBeyondMax,
  opsRequestsWaitingMax,
  opsSilenceMsMax,
} from '../../model/console-limits.ts';
import { AdminService, type AdminServiceDeps } from './admin-service.ts';
import { OpsAdmission } from './ops-admission.ts';
import type { OpsAppDeps } from './ops-app.ts';
import { CallerCheck, type CookieSessions, type Operators } from './operators.ts';
import type { RefusedCredentials } from './refused-credentials.ts';

export interface OpsListenerDeps
  extends Pick<OpsAppDeps, 'metrics' | 'readiness' | 'progress'>, Omit<AdminServiceDeps, 'spoolDirectory'> {
  readonly clock: Clock;
  readonly pages: readonly PageRoutes[];
  readonly operators: Operators;
  /** Logins of the console; null: it is off. */
  readonly sessions: CookieSessions | null;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  connectionsMax(): number;
}

/** Routes for a browser, which check credentials themselves. */
export interface PageRoutes {
  register(app: FastifyInstance): Promise<void>;
}

export interface OpsListenerSettings {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Host names accepted for administration, besides the loopback ones and `host`. */
  readonly hosts: readonly string[];
  /** Maximum connections per address without a credential; 0: unlimited. */
  readonly perAddressMax: number;
  /** Spool directory of uploads, used by this listener only and emptied at its start. */
  readonly spoolDirectory: string;
}

/** Above this share of the maximum, each answer closes its connection. */
const crowdedPart = 0.5;

interface Pipeline {
  /** Number of unanswered requests; Infinity: an answer will close the connection. */
  waiting: number;
  beyond: number;
}

export class OpsListener {
  readonly #deps: OpsListenerDeps;
  readonly #settings: OpsListenerSettings;
  readonly connections: BoundedServer;
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  readonly #admin: AdminService;
  #app: FastifyInstance | null = null;
  #making: Promise<FastifyInstance> | null = null;

  constructor(deps: OpsListenerDeps, settings: OpsListenerSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#admin = new AdminService({ ...deps, spoolDirectory: settings.spoolDirectory });
    this.connections = new BoundedServer(
      deps.clock,
      {
        tls: null,
        headBytesMax: opsHeadBytesMax,
        requestMsMax: opsRequestMsMax,
        keepAliveMs: opsIdleMsMax,
        tcpProbeMs: 0,
        perAddressMax: settings.perAddressMax,
        evictsAtOnce: true,
        max: () => deps.connectionsMax() - this.#provedCount,
      },
      {
        requested: (request, response) => this.#receive(request, response),
        answerOf: (fault) => bareAnswers[fault],
        failed: (error) => deps.log.error({ err: error }, 'ops listener: failed'),
      },
    );
    // The app limits the time of bodies with a known length instead.
    this.connections.server.requestTimeout = 0;
    this.connections.server.timeout = opsSilenceMsMax;
  }

  /** Has the actual port once it listens. */
  get address(): { readonly host: string; readonly port: number } {
    const { host, port } = this.#settings;
    return { host, port: this.connections.port || port };
  }

  /** Resolves to the actual port. Rejects if the address is taken, the tokens cannot be read, or the spool directory cannot be created. */
  async listen(): Promise<number> {
    const { host, port } = this.#settings;
    await this.#deps.operators.open();
    await this.#admin.open();
    return this.connections.listen(host, port);
  }

  /** Loads and composes the application, which otherwise the first request does. */
  async prepare(): Promise<FastifyInstance> {
    this.#making ??= this.#createApp();
    return (this.#app ??= await this.#making);
  }

  /** Closes every connection, also ones with unanswered requests. */
  close(): void {
    this.connections.close();
  }

  get #provedCount(): number {
    return this.connections.connectionCount - this.connections.unprovedCount;
  }

  async #createApp(): Promise<FastifyInstance> {
    const deps = this.#deps;
    const { host, hosts } = this.#settings;
    const { createOpsApp } = await import('./ops-app.ts');
    const check = new CallerCheck(deps.operators, [host, ...hosts], deps.sessions ?? undefined);
    const proved = ({ raw }: FastifyRequest): void => this.connections.released(raw.socket);
    const admission = new OpsAdmission({ ...deps, check, proved });
    const app = createOpsApp({ ...deps, admission, endsConnections: () => this.#endsConnections() });
    await this.#admin.register(app);
    for (const pages of deps.pages) await app.register(async (own) => pages.register(own));
    await app.ready();
    return app;
  }

  #endsConnections(): boolean {
    const isCrowded = this.connections.connectionCount > this.#deps.connectionsMax() * crowdedPart;
    return isCrowded || this.#deps.readiness.isDraining();
  }

  /** Node emits all pipelined requests at once; those over the limit get no answer. */
  #receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const pipeline = this.#pipelines.get(socket) ?? { waiting: 0, beyond: 0 };
    this.#pipelines.set(socket, pipeline);
    if (pipeline.waiting >= opsRequestsWaitingMax) {
      pipeline.beyond += 1;
      if (pipeline.beyond > opsRequestsBeyondMax) socket.destroy();
      return;
    }
    pipeline.waiting += 1;
    response.once('close', () => (pipeline.waiting -= 1));
    if (pipeline.waiting === opsRequestsWaitingMax) {
      response.shouldKeepAlive = false;
      pipeline.waiting = Infinity;
    }
    request.on('timeout', () => socket.destroy());
    // A route may work for long; only a peer that does not read its answer is disconnected.
    response.on('timeout', () => {
      if (socket.writableLength > 0) socket.destroy();
    });
    if (this.#app !== null) this.#app.routing(request, response);
    else void this.prepare().then((app) => app.routing(request, response));
  }
}

const bareAnswers: Readonly<Record<'malformed' | 'too-large' | 'method', BareAnswer>> = {
  malformed: bareAnswer(400),
  'too-large': bareAnswer(431),
  method: bareAnswer(405),
};

/** Answers bytes that are not a valid request. */
function bareAnswer(status: number): BareAnswer {
  const body = JSON.stringify({ error: STATUS_CODES[status]?.toLowerCase() });
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    Connection: 'close',
    ...(status === 405 && { Allow: 'GET, HEAD, POST' }),
  };
  return { status, headers, body };
}
