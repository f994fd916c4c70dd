/**
 * Checks every request of the ops listener before its body is read: Host, Origin and the credential that its path requires, then
 * path, method, the operator's role and the type of the body.
 */
import { parseCookie } from 'cookie';
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { hasBody } from '../../lib/connections/bounded-server.ts';
import { plainAddress } from '../../lib/connections/address-key.ts';
import type { Log } from '../../lib/log.ts';
import { isContentType } from '../../protocol/rest/content-type.ts';
import type { OpsCaller } from './admin-route.ts';
import type { Caller, CallerCheck } from './operators.ts';
import type { RefusedCredentials } from './refused-credentials.ts';

/** `open`: no check; `page`: requires a known Host and no foreign Origin. */
export type Access = 'open' | 'page';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Default: a credential is required as well. */
    access?: Access;
    isChange?: boolean;
    /** Accepted media types of the body. Default: JSON. */
    bodyTypes?: readonly string[];
  }
  interface FastifyRequest {
    /** Null if no credential is required. */
    opsCaller: OpsCaller | null;
  }
}

interface KnownPath {
  readonly access: Access | undefined;
  readonly methods: string[];
}

export interface OpsAdmissionDeps {
  readonly check: CallerCheck;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly log: Log;
  /** Called when the request's connection has shown a valid credential. */
  readonly proved: (request: FastifyRequest) => void;
}

const jsonTypes = ['application/json'];

export class OpsAdmission {
  readonly #deps: OpsAdmissionDeps;
  readonly #paths = new Map<string, KnownPath>();

  constructor(deps: OpsAdmissionDeps) {
    this.#deps = deps;
  }

  addRoute({ url, method, config }: RouteOptions): void {
    const known = this.#paths.get(url) ?? { access: config?.access, methods: [] };
    known.methods.push(...[method].flat());
    this.#paths.set(url, known);
  }

  /** Answers a refused request; null: it continues. */
  refuse(request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
    void reply.header('Cache-Control', 'no-store');
    const known = request.is404 ? this.#paths.get(pathOf(request)) : undefined;
    const { access, isChange, bodyTypes } = request.is404
      ? { access: known?.access, isChange: false, bodyTypes: undefined }
      : request.routeOptions.config;
    const refused = access === 'open' ? null : this.#refuseCaller(request, reply, access);
    if (refused !== null) return refused;
    if (known !== undefined)
      return refuseRequest(reply, 405, 'method not allowed', { Allow: known.methods.join(', ') });
    if (request.is404) return refuseRequest(reply, 404, 'no such path');
    if (isChange === true && request.opsCaller?.operator.role !== 'operator')
      return this.#refuseChange(request, reply);
    const types = bodyTypes ?? (hasBody(request) ? jsonTypes : []);
    const contentType = request.headers['content-type'];
    return types.length === 0 || types.some((type) => isContentType(contentType, type))
      ? null
      : refuseRequest(reply, 415, `Content-Type must be ${types.join(' or ')}`);
  }

  #refuseCaller(
    request: FastifyRequest,
    reply: FastifyReply,
    access: 'page' | undefined,
  ): FastifyReply | null {
    const { check, refusals, proved } = this.#deps;
    const caller = callerOf(request);
    if (access === 'page') {
      const refusal = check.refuseViewer(caller);
      return refusal === null ? null : refuseRequest(reply, refusal.status, refusal.message, closing);
    }
    const admitted = check.admit(caller);
    const from = remoteOf(request);
    if (admitted.ok) {
      proved(request);
      request.opsCaller = { operator: admitted.value, from, isAdmitted: () => check.admit(caller).ok };
      return null;
    }
    const { status, message } = admitted.error;
    if (status === 403) return refuseRequest(reply, status, message, closing);
    if (caller.authorization !== '') refusals.record('token', from);
    return refuseRequest(reply, status, message, { 'WWW-Authenticate': 'Bearer', ...closing });
  }

  /** Goes to the log, not the audit log, which a viewer must not be able to fill. */
  #refuseChange({ opsCaller, routeOptions }: FastifyRequest, reply: FastifyReply): FastifyReply {
    const name = opsCaller?.operator.name;
    this.#deps.log.warn(
      { operator: name, from: opsCaller?.from, path: routeOptions.url },
      'ops: change refused: the operator is a viewer',
    );
    return refuseRequest(reply, 403, `${name} is a viewer and may not make changes`);
  }
}

const closing = { Connection: 'close' };

export function refuseRequest(
  reply: FastifyReply,
  status: number,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): FastifyReply {
  return reply.code(status).headers(headers).send({ error });
}

export function callerOf({ headers }: FastifyRequest): Caller {
  return {
    host: headers.host ?? '',
    origin: headers.origin ?? '',
    authorization: headers.authorization ?? '',
    cookies: parseCookie(headers.cookie ?? ''),
    csrf: String(headers['x-reveille-csrf'] ?? ''),
  };
}

export function remoteOf({ raw }: FastifyRequest): string {
  return plainAddress(raw.socket.remoteAddress ?? '');
}

export function queryOf({ url }: FastifyRequest): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start));
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] ?? '';
}
