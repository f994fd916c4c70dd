/**
 * The console on the ops listener: one page with its script and its style, and the login that a cookie remembers. Whatever
 * the page shows or changes it asks of the routes that programs use, by that cookie. Source: docs/console.md.
 */
import { unexplainedFault } from '../../storage/lmdb/store-fault.ts';
import { z } from 'zod';
import type { HttpRequest } from '../../lib/uws.ts';
import type { Log } from '../../core/ports/log.ts';
import { consoleSessionMsMax } from '../../model/console-limits.ts';
import type { Caller } from '../ops/operators.ts';
import type { RefusedCredentials } from '../ops/refused-credentials.ts';
import { bodyTermsOf, takeJson, type OpsExchange } from '../ops/ops-exchange.ts';
import type { ConsoleAsset, ConsoleAssets } from './console-assets.ts';
import { cookieName, type ConsoleSession, type ConsoleSessions } from './console-sessions.ts';

export interface ConsoleServiceDeps {
  readonly sessions: ConsoleSessions;
  readonly loadAssets: () => Promise<ConsoleAssets>;
  readonly refusals: Pick<RefusedCredentials, 'record'>;
  readonly log: Log;
}

/** A request whose Host is known and whose Origin, if it has one, is its own. */
export interface ConsoleRequest {
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  /** Remote address. */
  readonly from: string;
}

/** The session as its page reads it. */
export interface ConsoleSessionJson {
  readonly name: string;
  readonly role: string;
  /** To be sent back with every request, as `X-Reveille-Csrf`. */
  readonly csrf: string;
  readonly expires_at_ms: number;
}

export interface KnownSessionJson {
  /** Null: the cookie is of none that lives. */
  readonly session: ConsoleSessionJson | null;
}

const assetPaths = ['/', '/console', '/console/', '/console/console.css', '/console/console.js'];
const methodsOf: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(assetPaths.map((path) => [path, ['GET', 'HEAD']])),
  '/console/session': ['GET'],
  '/console/login': ['POST'],
  '/console/logout': ['POST'],
};

const loginBody = z.strictObject({ token: z.string().min(1).max(256) });

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** Of every answer of the console. */
const headers: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policy.join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

export class ConsoleService {
  readonly #deps: ConsoleServiceDeps;
  /** Null: nobody has asked for the page yet, or it could not be made. */
  #assets: Promise<ConsoleAssets> | null = null;

  constructor(deps: ConsoleServiceDeps) {
    this.#deps = deps;
  }

  has(path: string): boolean {
    return Object.hasOwn(methodsOf, path);
  }

  /** Within the front end's handler. */
  handle(exchange: OpsExchange, asked: ConsoleRequest, request: HttpRequest): void {
    const { method, path, caller } = asked;
    const methods = methodsOf[path] ?? [];
    if (!methods.includes(method))
      return exchange.answerJson(
        405,
        { error: 'method not allowed' },
        { headers: { Allow: methods.join(', ') } },
      );
    if (path === '/console/session') return this.#answerSession(exchange, caller);
    if (path === '/console/logout') return this.#logOut(exchange, caller);
    const work =
      path === '/console/login'
        ? this.#logIn(exchange, asked, request)
        : this.#answerAsset(exchange, path, request.getHeader('if-none-match'));
    work.catch((error: unknown) => {
      this.#deps.log.error({ err: error, path }, 'the console could not be answered');
      exchange.answerJson(500, { error: unexplainedFault }, { closeConnection: true });
    });
  }

  async #answerAsset(exchange: OpsExchange, path: string, known: string): Promise<void> {
    if (path === '/' || path === '/console/')
      return exchange.answer({
        status: 303,
        contentType: 'text/plain',
        body: '',
        headers: { ...headers, Location: '/console' },
      });
    const asset = (await this.#load()).get(path);
    if (asset === undefined) return exchange.answerJson(404, { error: 'no such path' });
    return answerAsset(exchange, asset, known);
  }

  #load(): Promise<ConsoleAssets> {
    if (this.#assets === null) {
      this.#assets = this.#deps.loadAssets();
      this.#assets.catch(() => (this.#assets = null));
    }
    return this.#assets;
  }

  async #logIn(exchange: OpsExchange, { caller, from }: ConsoleRequest, request: HttpRequest): Promise<void> {
    const { sessions, refusals, log } = this.#deps;
    const body = await takeJson(exchange, bodyTermsOf(request));
    if (!body.ok) return refuse(exchange, body.error.status, body.error.message);
    const parsed = loginBody.safeParse(body.value);
    if (!parsed.success) return refuse(exchange, 400, 'token: a text of 1-256 characters');
    const secret = sessions.begin(parsed.data.token);
    if (secret === null) {
      refusals.record('login', from);
      return refuse(exchange, 401, 'no such token: that of ops.token, or of an operator, is needed');
    }
    const session = sessions.find({ host: caller.host, cookie: `${cookieName(caller.host)}=${secret}` });
    if (session === null) return refuse(exchange, 401, 'the token was revoked meanwhile');
    log.info({ operator: session.operator.name, from }, 'logged in to the console');
    answerOwn(exchange, session, cookieOf(caller, secret, consoleSessionMsMax / 1000));
  }

  #answerSession(exchange: OpsExchange, caller: Caller): void {
    answerOwn(exchange, this.#deps.sessions.find(caller));
  }

  /** A page of others cannot log anybody out. */
  #logOut(exchange: OpsExchange, caller: Caller): void {
    const { sessions } = this.#deps;
    if (sessions.admit(caller) === null) return refuse(exchange, 401, 'not logged in');
    sessions.end(caller);
    const ended = { headers: { ...headers, 'Set-Cookie': cookieOf(caller, '', 0) } };
    // There may be a body, which nobody reads.
    exchange.answerJson(200, {}, { ...ended, closeConnection: true });
  }
}

function answerAsset(exchange: OpsExchange, { contentType, body, etag }: ConsoleAsset, known: string): void {
  const sent = { ...headers, ETag: etag, 'Cache-Control': 'no-cache' };
  if (known === etag) exchange.answer({ status: 304, contentType, body: '', headers: sent });
  else exchange.answer({ status: 200, contentType, body, headers: sent });
}

function answerOwn(exchange: OpsExchange, session: ConsoleSession | null, cookie?: string): void {
  const body: KnownSessionJson = { session: session === null ? null : encodeSession(session) };
  exchange.answerJson(200, body, {
    headers: { ...headers, ...(cookie !== undefined && { 'Set-Cookie': cookie }) },
  });
}

function encodeSession({ operator, csrf, expiresAtMs }: ConsoleSession): ConsoleSessionJson {
  return { ...operator, csrf, expires_at_ms: expiresAtMs };
}

/** The page came over TLS if its origin says so: the listener itself has none, a proxy in front of it may. */
function cookieOf({ host, origin }: Caller, secret: string, ageS: number): string {
  const secure = origin.toLowerCase().startsWith('https://') ? '; Secure' : '';
  return `${cookieName(host)}=${secret}; Path=/; Max-Age=${ageS}; HttpOnly; SameSite=Strict${secure}`;
}

/** Nobody reads the rest of a refused body: the connection ends with the answer. */
function refuse(exchange: OpsExchange, status: number, error: string): void {
  exchange.answerJson(status, { error }, { headers, closeConnection: true });
}
