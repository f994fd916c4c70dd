/**
 * The operators' front end: probes and metrics for everybody who can reach it, administration for a caller with a token or a
 * session of the console, the console itself, and the page of a call, also for a viewer with a ticket. It stays up while the
 * server drains, so that a probe can see it. Source: running.md, Processes and listeners, Probes.
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
import { createOpsApp, type OpsAppDeps } from './ops-app.ts';
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
  /** The most connections that it may have now. */
  connectionsMax(): number;
}

/** Routes for a browser, which check the caller's credential themselves. */
export interface PageRoutes {
  register(app: FastifyInstance): Promise<void>;
}

export interface OpsListenerSettings {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** Host names that requests for administration may use, beside the loopback ones and `host`. */
  readonly hosts: readonly string[];
  /** Unproved connections of one address; 0: no such bound. */
  readonly perAddressMax: number;
  /** The directory of uploads while they are used; this listener's alone, and emptied when it starts. */
  readonly spoolDirectory: string;
}

/** From this part of the maximum on, each answer ends its connection. */
const crowdedPart = 0.5;

/** The requests of a connection. */
interface Pipeline {
  /** For their answers; Infinity: the answer to one of them ends the connection. */
  waiting: number;
  /** Beyond the limit. */
  beyond: number;
}

export class OpsListener {
  readonly #deps: OpsListenerDeps;
  readonly #settings: OpsListenerSettings;
  readonly #server: BoundedServer;
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  #app: FastifyInstance | null = null;

  constructor(deps: OpsListenerDeps, settings: OpsListenerSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#server = new BoundedServer(
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
    // The time of a body is limited where its length is known.
    this.#server.server.requestTimeout = 0;
    this.#server.server.timeout = opsSilenceMsMax;
  }

  /** Has the real port once it listens. */
  get address(): { readonly host: string; readonly port: number } {
    const { host, port } = this.#settings;
    return { host, port: this.#server.port || port };
  }

  get connections(): BoundedServer {
    return this.#server;
  }

  /**
   * Resolves to the real port. Rejects when the address is taken, the tokens cannot be read, or the spool directory cannot be
   * made.
   */
  async listen(): Promise<number> {
    const { host, port } = this.#settings;
    await this.#deps.operators.open();
    this.#app = await this.#createApp();
    return this.#server.listen(host, port);
  }

  /** Ends every connection, answered or not. */
  close(): void {
    this.#server.close();
  }

  get #provedCount(): number {
    return this.#server.connectionCount - this.#server.unprovedCount;
  }

  async #createApp(): Promise<FastifyInstance> {
    const deps = this.#deps;
    const { host, hosts, spoolDirectory } = this.#settings;
    const check = new CallerCheck(deps.operators, [host, ...hosts], deps.sessions ?? undefined);
    const proved = ({ raw }: FastifyRequest): void => this.#server.released(raw.socket);
    const admission = new OpsAdmission({ ...deps, check, proved });
    const app = createOpsApp({ ...deps, admission, endsConnections: () => this.#endsConnections() });
    const admin = new AdminService({ ...deps, spoolDirectory });
    await admin.open();
    await admin.register(app);
    for (const pages of deps.pages) await app.register(async (own) => pages.register(own));
    await app.ready();
    return app;
  }

  #endsConnections(): boolean {
    const isCrowded = this.#server.connectionCount > this.#deps.connectionsMax() * crowdedPart;
    return isCrowded || this.#deps.readiness.isDraining();
  }

  /** Node hands over all requests that a peer has sent at once: those beyond the limit are not answered. */
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
    // A route may work for long: only an answer that the peer does not read ends the connection.
    response.on('timeout', () => {
      if (socket.writableLength > 0) socket.destroy();
    });
    this.#app?.routing(request, response);
  }
}

const bareAnswers: Readonly<Record<'malformed' | 'too-large' | 'method', BareAnswer>> = {
  malformed: bareAnswer(400),
  'too-large': bareAnswer(431),
  method: bareAnswer(405),
};

/** To bytes that are no request. */
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
