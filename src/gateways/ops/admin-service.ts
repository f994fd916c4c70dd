/**
 * Runs administrative routes for admitted callers. A change is recorded in the audit log before it begins; an upload is spooled
 * to a file first, and reports its progress line by line.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { uploadBytesMax, uploadsAtOnceMax } from '../../model/console-limits.ts';
import type { Log } from '../../lib/log.ts';
import { localOperator } from '../../model/audit.ts';
import type { AuditLog } from '../../storage/audit/audit-log.ts';
import { explainFault } from '../../storage/lmdb/store-fault.ts';
import {
  AdminRefusal,
  type AdminAnswer,
  type AdminRequest,
  type AdminRoute,
  type ChangeRoute,
  type DirectoryRoute,
  type OpsCaller,
  type ReadRoute,
  type UploadRoute,
  intentOf,
  outcomeOf,
  refuse,
} from './admin-route.ts';
import { queryOf, refuseRequest } from './ops-admission.ts';

const ndjsonType = 'application/x-ndjson';

export interface AdminServiceDeps {
  readonly routes: readonly (AdminRoute | DirectoryRoute | UploadRoute)[];
  readonly spoolDirectory: string;
  readonly audit: Pick<AuditLog, 'record'>;
  readonly log: Log;
}

export class AdminService {
  readonly #deps: AdminServiceDeps;
  #uploads = 0;

  constructor(deps: AdminServiceDeps) {
    this.#deps = deps;
  }

  /** Creates an empty spool directory, and deletes files that a killed process left. */
  async open(): Promise<void> {
    const { spoolDirectory } = this.#deps;
    await rm(spoolDirectory, { recursive: true, force: true });
    await mkdir(spoolDirectory, { recursive: true, mode: 0o700 });
  }

  async register(app: FastifyInstance): Promise<void> {
    for (const route of this.#deps.routes)
      if (!('upload' in route))
        app.route({
          method: route.method,
          url: route.path,
          config: { isChange: 'audit' in route },
          handler: (request, reply) =>
            'open' in route ? sendContent(request, reply, route) : this.#call(request, reply, route),
        });
    await app.register(async (uploads) => {
      uploads.removeAllContentTypeParsers();
      uploads.addContentTypeParser('*', (_request, _body, done) => done(null));
      for (const route of this.#deps.routes)
        if ('upload' in route)
          uploads.route({
            method: route.method,
            url: route.path,
            config: { isChange: true, bodyTypes: ['application/json', ndjsonType] },
            handler: (request, reply) => this.#upload(request, reply, route),
          });
    });
  }

  async #call(request: FastifyRequest, reply: FastifyReply, route: AdminRoute): Promise<FastifyReply> {
    const caller = callerOf(request);
    const { name: operator } = caller.operator;
    const asked = { query: queryOf(request), body: request.body, operator, gone: hangUpSignal(reply) };
    const answer = await (route.method === 'GET'
      ? read(caller, route, asked)
      : this.#change(caller, route, asked));
    return sendAnswer(reply, answer);
  }

  #change(caller: OpsCaller, route: ChangeRoute, request: AdminRequest): Promise<AdminAnswer> {
    const { audit: terms } = route;
    return this.#deps.audit.record(
      intentOf(caller, terms, request.body),
      () => route.handle(request),
      (answer) => outcomeOf(answer, terms),
    );
  }

  async #upload(request: FastifyRequest, reply: FastifyReply, route: UploadRoute): Promise<FastifyReply> {
    if (this.#uploads >= uploadsAtOnceMax) return refuseRequest(reply, 503, 'too many uploads at once');
    const file = join(this.#deps.spoolDirectory, randomUUID());
    const answer = new LineAnswer(reply);
    this.#uploads += 1;
    try {
      try {
        if (!(await spoolBody(request, file))) return refuseRequest(reply, 413, 'request body too large');
        await this.#changeByFile(request, answer, route, file);
      } finally {
        await rm(file, { force: true }).finally(() => (this.#uploads -= 1));
      }
      answer.end();
    } catch (error) {
      if (!answer.hasBegun) throw error;
      this.#deps.log.error({ err: error, path: route.path }, 'upload: failed');
      await answer.send({ error: explainFault(error) });
      answer.end();
    }
    return reply;
  }

  async #changeByFile(
    request: FastifyRequest,
    answer: LineAnswer,
    route: UploadRoute,
    file: string,
  ): Promise<void> {
    const { audit: terms } = route;
    const query = queryOf(request);
    const act = async (): Promise<AdminAnswer> => {
      const { lines, ended } = route.upload({ query }, file, answer.gone);
      // A hang-up of the caller ends the iteration.
      for await (const line of lines) if (!(await answer.send(line))) break;
      return ended;
    };
    const intent = intentOf(callerOf(request), terms, Object.fromEntries(query));
    const last = await this.#deps.audit.record(intent, act, (ended) => outcomeOf(ended, terms));
    await answer.send(last instanceof AdminRefusal ? { error: last.error } : last);
  }
}

async function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  route: DirectoryRoute,
): Promise<FastifyReply> {
  if (callerOf(request).operator.name !== localOperator.name)
    return refuseRequest(reply, 403, 'it contains secrets: use the token in ops.token');
  const content = await route.open({ query: queryOf(request) });
  if (content instanceof AdminRefusal) return sendAnswer(reply, content);
  return reply.headers(content.headers).type('application/octet-stream').send(content.pieces);
}

function callerOf({ opsCaller }: FastifyRequest): OpsCaller {
  if (opsCaller === null) throw new Error('a route of administration was called without a caller');
  return opsCaller;
}

export function sendAnswer(reply: FastifyReply, answer: AdminAnswer): FastifyReply {
  if (answer instanceof AdminRefusal) return refuseRequest(reply, answer.status, answer.error);
  return reply.send(answer);
}

/** The token may be revoked while the answer is computed; the caller then receives 401. */
async function read(caller: OpsCaller, route: ReadRoute, request: AdminRequest): Promise<AdminAnswer> {
  const answer = await route.handle(request);
  return caller.isAdmitted() ? answer : refuse(401, 'the token was revoked meanwhile');
}

/**
 * Writes the whole body to a new file, mode 0600, at the pace of the disk. Resolves to false if the body is too large. Rejects if
 * the peer hangs up or the file cannot be written, which may leave a partial file.
 */
async function spoolBody({ raw }: FastifyRequest, path: string): Promise<boolean> {
  if (Number(raw.headers['content-length'] ?? 0) > uploadBytesMax) return false;
  const file = await open(path, 'wx', 0o600);
  try {
    let bytes = 0;
    for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > uploadBytesMax) return false;
      await file.appendFile(chunk);
    }
  } finally {
    await file.close();
  }
  return true;
}

/** Aborted when the caller hangs up before the answer is complete. */
function hangUpSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}

/** An answer in NDJSON, sent line by line; the first line starts it. */
class LineAnswer {
  readonly #reply: FastifyReply;
  readonly #lines = new PassThrough();
  readonly gone: AbortSignal;
  #hasBegun = false;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
    this.gone = hangUpSignal(reply);
  }

  /** True: the status is already sent. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Resolves when the next line may be sent; to false if the caller has hung up. */
  async send(line: unknown): Promise<boolean> {
    if (this.gone.aborted) return false;
    this.#begin();
    if (this.#lines.write(`${JSON.stringify(line)}\n`)) return true;
    await once(this.#lines, 'drain', { signal: this.gone }).catch(() => undefined);
    return !this.gone.aborted;
  }

  end(): void {
    this.#begin();
    this.#lines.end();
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.#reply.type(ndjsonType).send(this.#lines);
  }
}
