/**
 * The console on the ops listener: one page with its script and style, and a login stored in a cookie. The page calls the same
 * routes as programs, authenticated by that cookie. Source: docs/console.md.
 */
import etag from '@fastify/etag';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Log } from '../../lib/log.ts';
import { consoleSessionMsMax } from '../../model/console-limits.ts';
import type { Caller } from '../ops/operators.ts';
import { callerOf, refuseRequest, remoteOf } from '../ops/ops-admission.ts';
import type { RefusedCredentials } from '../ops/refused-credentials.ts';
import { cookieName, type ConsoleSession, type ConsoleSessions } from './console-sessions.ts';
import { type PageFiles, restrictPages } from './page-files.ts';

export interface ConsoleServiceDeps {
  readonly sessions: ConsoleSessions;
  readonly files: Pick<PageFiles, 'send'>;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly log: Log;
}

const loginBody = z.strictObject({ token: z.string().min(1).max(256) });

export class ConsoleService {
  readonly #deps: ConsoleServiceDeps;

  constructor(deps: ConsoleServiceDeps) {
    this.#deps = deps;
  }

  async register(app: FastifyInstance): Promise<void> {
    const config = { access: 'page' } as const;
    restrictPages(app);
    app.get('/console/session', { config }, (request) => this.#findSession(request));
    app.post('/console/login', { config }, (request, reply) => this.#logIn(request, reply));
    app.post('/console/logout', { config }, (request, reply) => this.#logOut(request, reply));
    for (const path of ['/', '/console/'])
      app.get(path, { config }, (_request, reply) => reply.redirect('/console', 303));
    await app.register(async (page) => {
      await page.register(etag);
      page.get('/console', { config }, (_request, reply) => this.#deps.files.send('console.html', reply));
    });
  }

  async #findSession(request: FastifyRequest): Promise<KnownSessionJson> {
    return encodeKnown(this.#deps.sessions.find(callerOf(request)));
  }

  async #logIn(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { sessions, refusals, log } = this.#deps;
    const from = remoteOf(request);
    const caller = callerOf(request);
    const parsed = loginBody.safeParse(request.body);
    if (!parsed.success) return refuseRequest(reply, 400, 'token: a text of 1-256 characters');
    const secret = sessions.begin(parsed.data.token);
    const cookies = { [cookieName(caller.host)]: secret ?? '' };
    const session = secret === null ? null : sessions.find({ host: caller.host, cookies });
    if (secret === null || session === null) {
      refusals.record('login', from);
      return refuseRequest(reply, 401, 'no such token: log in with the token of ops.token or of an operator');
    }
    log.info({ operator: session.operator.name, from }, 'console: operator logged in');
    return setCookie(reply, caller, secret, consoleSessionMsMax / 1000).send(encodeKnown(session));
  }

  /** CSRF: another site's page cannot log an operator out. */
  async #logOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { sessions } = this.#deps;
    const caller = callerOf(request);
    if (sessions.admit(caller) === null) return refuseRequest(reply, 401, 'not logged in');
    await sessions.end(caller);
    return setCookie(reply, caller, '', 0).send({});
  }
}

export type KnownSessionJson = ReturnType<typeof encodeKnown>;

/** Null: the cookie belongs to no live session. */
function encodeKnown(session: ConsoleSession | null) {
  return { session: session && encodeSession(session) };
}

export type ConsoleSessionJson = ReturnType<typeof encodeSession>;

/** `csrf`: sent with every request, as `X-Reveille-Csrf`. */
function encodeSession({ operator, csrf, expiresAtMs }: ConsoleSession) {
  return { ...operator, csrf, expires_at_ms: expiresAtMs };
}

/** The origin shows whether the page came over TLS, since a proxy may terminate it. */
function setCookie(
  reply: FastifyReply,
  { host, origin }: Caller,
  secret: string,
  maxAgeS: number,
): FastifyReply {
  const secure = origin.toLowerCase().startsWith('https://') ? '; Secure' : '';
  const terms = `Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure}`;
  return reply.header('Set-Cookie', `${cookieName(host)}=${secret}; ${terms}`);
}
