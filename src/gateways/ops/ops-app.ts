/**
 * The Fastify application of the ops listener: probes, metrics, and everything common to its routes: admission, JSON bodies, the
 * form of refusals and faults, and the closing of connections. See docs/adr/0029.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import {
  fastify,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import { hasBody } from '../../lib/connections/bounded-server.ts';
import { opsBodyBytesMax, opsRequestMsMax } from '../../model/console-limits.ts';
import type { Log } from '../../lib/log.ts';
import { AuditRefusal } from '../../storage/audit/audit-log.ts';
import { explainFault, unexplainedFault } from '../../storage/lmdb/store-fault.ts';
import type { LoopProgress } from '../../lib/loop-progress.ts';
import type { Exposition } from '../../telemetry/metrics.ts';
import type { Readiness } from '../../telemetry/readiness.ts';
import { refuseRequest, type OpsAdmission } from './ops-admission.ts';

export interface OpsAppDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly metrics: Exposition;
  readonly readiness: Readiness;
  readonly progress: LoopProgress;
  readonly admission: OpsAdmission;
  /** True while each answer closes its connection. */
  endsConnections(): boolean;
}

export function createOpsApp(deps: OpsAppDeps): FastifyInstance {
  const { admission, progress, clock } = deps;
  const app = fastify({
    bodyLimit: opsBodyBytesMax,
    rewriteUrl: rewriteTarget,
    // Answers a path that cannot be decoded.
    frameworkErrors: (_error, request, reply) => {
      if (admission.refuse(request, reply) === null) void refuseRequest(reply, 404, 'no such path');
    },
  });
  app.decorateRequest('opsCaller', null);
  app.addHook('onRoute', (route) => admission.addRoute(route));
  app.addHook('onRequest', async (request, reply) => {
    progress.advance();
    const refused = admission.refuse(request, reply);
    if (refused !== null) return refused;
    if (hasBody(request) && request.routeOptions.config.bodyTypes === undefined) limitTime(clock, request);
    return undefined;
  });
  app.addHook('onSend', async (request, reply) => {
    // The rest of the body is not read after the answer.
    if (!request.raw.complete || deps.endsConnections()) void reply.header('Connection', 'close');
  });
  app.setErrorHandler((error: FastifyError, request, reply) => answerError(deps.log, error, request, reply));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, parseJson);
  addProbes(app, deps);
  return app;
}

function addProbes(app: FastifyInstance, { readiness, metrics }: OpsAppDeps): void {
  const config = { access: 'open' } as const;
  let scrape: Promise<string> | null = null;
  app.get('/livez', { config }, async () => ({ live: true }));
  app.get('/readyz', { config }, async (_request, reply) => {
    const { isReady: ready, reasons } = readiness;
    return reply.code(ready ? 200 : 503).send({ ready, reasons });
  });
  app.get('/metrics', { config }, async (_request, reply) => {
    // Concurrent scrapes share one result.
    scrape ??= metrics.expose().finally(() => (scrape = null));
    return reply.type(metrics.contentType).send(await scrape);
  });
}

/** RFC 9112, 3.2.2: with a target in absolute form, the authority replaces Host. */
function rewriteTarget({ url = '', headers }: FastifyRequest['raw']): string {
  const [, authority, path = ''] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  if (authority === undefined) return url;
  headers.host = authority;
  return path.startsWith('/') ? path : `/${path}`;
}

/** Uploads are exempt: they end when they make no progress. */
function limitTime(clock: Clock, { raw }: FastifyRequest): void {
  const cancel = clock.after(opsRequestMsMax, () => raw.destroy());
  raw.once('end', cancel).once('close', cancel);
}

function parseJson(
  request: FastifyRequest,
  body: string,
  done: (error: Error | null, value?: unknown) => void,
): void {
  if (!hasBody(request)) return done(null);
  try {
    done(null, JSON.parse(body));
  } catch {
    done(Object.assign(new Error('request body is not JSON'), { statusCode: 400 }));
  }
}

function answerError(log: Log, error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500, message } = error;
  if (statusCode === 413) void refuseRequest(reply, 413, 'request body too large');
  else if (statusCode < 500) void refuseRequest(reply, statusCode, message);
  else if (error instanceof AuditRefusal) void refuseRequest(reply, 503, message);
  // A peer that hung up within its body reads no answer.
  else if (!request.raw.destroyed || request.raw.complete) {
    log.error({ err: error, path: request.routeOptions.url }, 'ops listener: request failed');
    const fault = request.opsCaller === null ? unexplainedFault : explainFault(error);
    void refuseRequest(reply, 500, fault, { Connection: 'close' });
  }
}
