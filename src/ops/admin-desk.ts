/** Administration behind the caller's check: finds the route, takes the body in, sends what the route says. */
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { HttpRequest } from '../base/uws.ts';
import type { Log } from '../ports/log.ts';
import type { AdminRoute, UploadRoute } from './admin-route.ts';
import { takeJson, takeUpload, type BodyRefusal, type BodyTerms } from './ops-body.ts';
import type { OpsExchange } from './ops-exchange.ts';

/** Uploads taken in or used at the same time; beyond it 503. */
const uploadsAtOnceMax = 4;

type Route = AdminRoute | UploadRoute;

/** What is needed of a request after the front end has forgotten it. */
interface Asked extends BodyTerms {
  readonly query: URLSearchParams;
}

export class AdminDesk {
  readonly #routes = new Map<string, Route[]>();
  readonly #spoolDirectory: string;
  readonly #log: Log;
  #uploads = 0;

  constructor(routes: readonly Route[], spoolDirectory: string, log: Log) {
    for (const route of routes)
      this.#routes.set(route.path, [...(this.#routes.get(route.path) ?? []), route]);
    this.#spoolDirectory = spoolDirectory;
    this.#log = log;
  }

  /** Makes the spool directory anew: what a killed process left in it is of no use. */
  async open(): Promise<void> {
    await rm(this.#spoolDirectory, { recursive: true, force: true });
    await mkdir(this.#spoolDirectory, { recursive: true, mode: 0o700 });
  }

  /** Within the front end's handler. */
  handle(exchange: OpsExchange, method: string, path: string, request: HttpRequest): void {
    const routes = this.#routes.get(path);
    if (routes === undefined) return exchange.answerJson(404, { error: 'no such path' });
    const route = routes.find((candidate) => candidate.method === method);
    if (route === undefined) {
      const headers = { Allow: routes.map((candidate) => candidate.method).join(', ') };
      return exchange.answerJson(405, { error: 'method not allowed' }, { headers });
    }
    const asked = copyAsked(request);
    const work =
      'upload' in route ? this.#upload(exchange, route, asked) : this.#call(exchange, route, asked);
    work.catch((error: unknown) => this.#fault(exchange, path, error));
  }

  async #call(exchange: OpsExchange, route: AdminRoute, asked: Asked): Promise<void> {
    const body = await takeJson(exchange, asked);
    if (!body.ok) return refuseBody(exchange, body.error);
    const reply = await route.handle({ query: asked.query, body: body.value });
    exchange.answerJson(reply.status, reply.body);
  }

  async #upload(exchange: OpsExchange, route: UploadRoute, asked: Asked): Promise<void> {
    if (this.#uploads >= uploadsAtOnceMax)
      return refuseBody(exchange, { status: 503, message: 'too many uploads at once' });
    const file = join(this.#spoolDirectory, randomUUID());
    this.#uploads += 1;
    try {
      const taken = await takeUpload(exchange, asked, file);
      if (!taken.ok) return refuseBody(exchange, taken.error);
      await sendLines(exchange, route.upload({ query: asked.query }, file));
    } finally {
      await rm(file, { force: true }).finally(() => (this.#uploads -= 1));
    }
    exchange.endLines();
  }

  /** The front end may have been left with half a body, so the connection goes too. */
  #fault(exchange: OpsExchange, path: string, error: unknown): void {
    this.#log.error({ err: error, path }, 'administration failed');
    const fault = { error: 'internal error' };
    if (!exchange.isStreaming) return exchange.answerJson(500, fault, { closeConnection: true });
    void exchange.sendLine(fault).then(() => exchange.endLines());
  }
}

function copyAsked(request: HttpRequest): Asked {
  const length = request.getHeader('content-length');
  return {
    // Undefined where the path has no `?`.
    query: new URLSearchParams((request.getQuery() as string | undefined) ?? ''),
    contentType: request.getHeader('content-type'),
    bytes: length === '' ? null : Number(length),
    hasBody: (length !== '' && length !== '0') || request.getHeader('transfer-encoding') !== '',
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
