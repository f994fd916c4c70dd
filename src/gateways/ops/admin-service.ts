/**
 * Administration behind the caller's check: finds the route, receives the body, sends the route's reply. A change is for
 * operators alone, and stands in the audit log before it begins.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { HttpRequest } from '../../lib/uws.ts';
import type { Log } from '../../core/ports/log.ts';
import { AuditRefusal, type AuditLog } from '../../storage/audit/audit-log.ts';
import { explainFault } from '../../storage/lmdb/store-fault.ts';
import {
  type AdminReply,
  type AdminRequest,
  type AdminRoute,
  type ChangeRoute,
  type ReadRoute,
  type UploadRoute,
  intentOf,
  outcomeOf,
  refuse,
  type OpsCaller,
} from './admin-route.ts';
import {
  bodyTermsOf,
  takeJson,
  takeUpload,
  type BodyRefusal,
  type BodyTerms,
  type OpsExchange,
} from './ops-exchange.ts';

/** Uploads received or used at the same time; the next is answered 503. */
const uploadsAtOnceMax = 4;

type Route = AdminRoute | UploadRoute;

/** The parts of a request that outlive the front end's handler. */
interface Asked extends BodyTerms {
  readonly query: URLSearchParams;
}

export interface AdminServiceDeps {
  readonly routes: readonly Route[];
  readonly spoolDirectory: string;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly log: Log;
}

export class AdminService {
  readonly #routes = new Map<string, Route[]>();
  readonly #spoolDirectory: string;
  readonly #audit: Pick<AuditLog, 'record'>;
  readonly #log: Log;
  #uploads = 0;

  constructor({ routes, spoolDirectory, audit, log }: AdminServiceDeps) {
    for (const route of routes)
      this.#routes.set(route.path, [...(this.#routes.get(route.path) ?? []), route]);
    this.#spoolDirectory = spoolDirectory;
    this.#audit = audit;
    this.#log = log;
  }

  /** Creates the spool directory anew: files that a killed process left in it are of no use. */
  async open(): Promise<void> {
    await rm(this.#spoolDirectory, { recursive: true, force: true });
    await mkdir(this.#spoolDirectory, { recursive: true, mode: 0o700 });
  }

  /** Within the front end's handler. */
  handle(exchange: OpsExchange, caller: OpsCaller, method: string, path: string, request: HttpRequest): void {
    const routes = this.#routes.get(path);
    if (routes === undefined) return exchange.answerJson(404, { error: 'no such path' });
    const route = routes.find((candidate) => candidate.method === method);
    if (route === undefined) {
      const headers = { Allow: routes.map((candidate) => candidate.method).join(', ') };
      return exchange.answerJson(405, { error: 'method not allowed' }, { headers });
    }
    if ('audit' in route && caller.operator.role !== 'operator')
      return this.#refuseViewer(exchange, caller, path);
    const asked = copyAsked(request);
    const work =
      'upload' in route
        ? this.#upload(exchange, caller, route, asked)
        : this.#call(exchange, caller, route, asked);
    work.catch((error: unknown) => this.#fault(exchange, path, error));
  }

  /** Logged, but not in the audit log: a viewer must not be able to fill that. */
  #refuseViewer(exchange: OpsExchange, { operator, from }: OpsCaller, path: string): void {
    this.#log.warn({ operator: operator.name, from, path }, 'a viewer asked for a change, and was refused');
    refuseBody(exchange, { status: 403, message: `${operator.name} is a viewer and may change nothing` });
  }

  async #call(exchange: OpsExchange, caller: OpsCaller, route: AdminRoute, asked: Asked): Promise<void> {
    const body = await takeJson(exchange, asked);
    if (!body.ok) return refuseBody(exchange, body.error);
    const request = { query: asked.query, body: body.value };
    const reply =
      route.method === 'GET'
        ? await read(caller, route, request)
        : await this.#change(caller, route, request);
    exchange.answerJson(reply.status, reply.body);
  }

  async #change(caller: OpsCaller, route: ChangeRoute, request: AdminRequest): Promise<AdminReply> {
    const { audit: terms } = route;
    const act = (): Promise<AdminReply> => route.handle(request);
    try {
      return await this.#audit.record(intentOf(caller, terms, request.body), act, (reply) =>
        outcomeOf(reply, terms),
      );
    } catch (error) {
      if (!(error instanceof AuditRefusal)) throw error;
      return refuse(503, error.message);
    }
  }

  async #upload(exchange: OpsExchange, caller: OpsCaller, route: UploadRoute, asked: Asked): Promise<void> {
    if (this.#uploads >= uploadsAtOnceMax)
      return refuseBody(exchange, { status: 503, message: 'too many uploads at once' });
    const file = join(this.#spoolDirectory, randomUUID());
    this.#uploads += 1;
    try {
      const taken = await takeUpload(exchange, asked, file);
      if (!taken.ok) return refuseBody(exchange, taken.error);
      await this.#changeByFile(exchange, caller, route, { query: asked.query, file });
    } catch (error) {
      if (!(error instanceof AuditRefusal)) throw error;
      return refuseBody(exchange, { status: 503, message: error.message });
    } finally {
      await rm(file, { force: true }).finally(() => (this.#uploads -= 1));
    }
    exchange.endLines();
  }

  async #changeByFile(
    exchange: OpsExchange,
    caller: OpsCaller,
    route: UploadRoute,
    { query, file }: { readonly query: URLSearchParams; readonly file: string },
  ): Promise<void> {
    const { audit: terms } = route;
    const act = async (): Promise<AdminReply> => {
      const { lines, ended } = route.upload({ query }, file, exchange.gone);
      await sendLines(exchange, lines);
      return ended;
    };
    const intent = intentOf(caller, terms, Object.fromEntries(query));
    const { body } = await this.#audit.record(intent, act, (reply) => outcomeOf(reply, terms));
    if (body !== undefined) await exchange.sendLine(body);
  }

  /** The front end may have been left with half a body, so the connection goes too. */
  #fault(exchange: OpsExchange, path: string, error: unknown): void {
    this.#log.error({ err: error, path }, 'administration failed');
    const fault = { error: explainFault(error) };
    if (!exchange.isStreaming) return exchange.answerJson(500, fault, { closeConnection: true });
    void exchange.sendLine(fault).then(() => exchange.endLines());
  }
}

/** The answer may have taken long: a caller whose token was revoked meanwhile gets 401. */
async function read(caller: OpsCaller, route: ReadRoute, request: AdminRequest): Promise<AdminReply> {
  const reply = await route.handle(request);
  return caller.holds() ? reply : refuse(401, 'the token was revoked meanwhile');
}

function copyAsked(request: HttpRequest): Asked {
  return {
    // Undefined where the path has no `?`.
    query: new URLSearchParams((request.getQuery() as string | undefined) ?? ''),
    ...bodyTermsOf(request),
  };
}

/** Nobody reads the rest of a refused body: the connection ends with the answer. */
function refuseBody(exchange: OpsExchange, { status, message }: BodyRefusal): void {
  exchange.answerJson(status, { error: message }, { closeConnection: true });
}

/** Ends the iteration where it stands when the caller hangs up. */
async function sendLines(exchange: OpsExchange, lines: AsyncIterable<unknown>): Promise<void> {
  for await (const line of lines) if (!(await exchange.sendLine(line))) return;
}
