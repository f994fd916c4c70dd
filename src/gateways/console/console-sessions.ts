/**
 * Sessions of the console. A login with an ops token begins one, and its cookie then stands for the token; it ends with a logout,
 * after half a day, or with the token. A cookie is signed with a key from a file, so that it survives restarts and upgrades;
 * logouts are stored in the same file. A request by cookie also needs a CSRF proof, which only the session's page can read.
 * Source: docs/console.md.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Operator } from '../../model/audit.ts';
import { consoleSessionMsMax } from '../../model/console-limits.ts';
import { hashOpsToken } from '../../storage/keys/ops-token-file.ts';
import type { ConsoleKey } from '../../storage/keys/console-key-file.ts';
import type { Caller, CookieSessions, Operators } from '../ops/operators.ts';

export interface ConsoleSession {
  readonly operator: Operator;
  /** Sent with every request of the page, as `X-Reveille-Csrf`. */
  readonly csrf: string;
  /** Wall milliseconds. */
  readonly expiresAtMs: number;
}

/** Fields of a cookie: `TOKENHASH.EXPIRES.NAME.MAC`. */
interface Cookie {
  readonly tokenHash: Buffer;
  readonly expiresAtMs: number;
  readonly name: string;
}

const nameBytes = 16;
const cookieForm = /^([\w-]{43})\.(\d{1,15})\.([\w-]{22})\.([\w-]{43})$/;

type Asking = Pick<Caller, 'host' | 'cookies'>;

export class ConsoleSessions implements CookieSessions {
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #operators: Pick<Operators, 'identifyHash'>;
  readonly #key: ConsoleKey;

  constructor(clock: Pick<Clock, 'wallMs'>, operators: Pick<Operators, 'identifyHash'>, key: ConsoleKey) {
    this.#clock = clock;
    this.#operators = operators;
    this.#key = key;
  }

  /** The cookie value of a new session. Null: the token is not valid. */
  begin(token: string): string | null {
    const tokenHash = hashOpsToken(token);
    if (this.#operators.identifyHash(tokenHash) === null) return null;
    const expiresAtMs = this.#clock.wallMs() + consoleSessionMsMax;
    const name = randomBytes(nameBytes).toString('base64url');
    const text = `${tokenHash.toString('base64url')}.${expiresAtMs}.${name}`;
    return `${text}.${this.#sign('session', text)}`;
  }

  /** Null: the cookie belongs to no live session. */
  find(asking: Asking): ConsoleSession | null {
    const cookie = this.#read(asking);
    if (cookie === null) return null;
    const operator = this.#operators.identifyHash(cookie.tokenHash);
    if (operator === null) return null;
    return { operator, csrf: this.#sign('csrf', cookie.name), expiresAtMs: cookie.expiresAtMs };
  }

  admit(caller: Asking & Pick<Caller, 'csrf'>): Operator | null {
    const session = this.find(caller);
    return session !== null && isSame(session.csrf, caller.csrf) ? session.operator : null;
  }

  /** Durable once it resolves. Rejects if the key file cannot be written; the session then stays valid. */
  async end(asking: Asking): Promise<void> {
    const cookie = this.#read(asking);
    if (cookie !== null) await this.#key.end(cookie.name, cookie.expiresAtMs, this.#clock.wallMs());
  }

  #read({ host, cookies }: Asking): Cookie | null {
    const [, hash = '', expires = '', name = '', mac = ''] =
      cookieForm.exec(cookies[cookieName(host)] ?? '') ?? [];
    if (!isSame(mac, this.#sign('session', `${hash}.${expires}.${name}`))) return null;
    const expiresAtMs = Number(expires);
    if (expiresAtMs <= this.#clock.wallMs() || this.#key.hasEnded(name)) return null;
    return { tokenHash: Buffer.from(hash, 'base64url'), expiresAtMs, name };
  }

  #sign(purpose: 'session' | 'csrf', text: string): string {
    return createHmac('sha256', this.#key.secret).update(`${purpose} ${text}`).digest('base64url');
  }
}

/**
 * The cookie's name contains the port: browsers send cookies to every port of a host, and several consoles on one machine or
 * behind tunnels would otherwise log each other out.
 */
export function cookieName(host: string): string {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  return port === undefined ? 'reveille_console' : `reveille_console_${port}`;
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
