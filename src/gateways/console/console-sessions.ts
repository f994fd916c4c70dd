/**
 * The sessions of the console: a login with an ops token begins one, its cookie stands for the token from then on, and it ends
 * with a logout, after half a day, or with the token. They are kept in memory alone: after a restart an operator logs in again.
 * A request by cookie must also bear a proof that only the page of the session can have read. Source: docs/console.md.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Operator } from '../../model/audit.ts';
import { consoleSessionMsMax, consoleSessionsPerTokenMax } from '../../model/console-limits.ts';
import { hashOpsToken } from '../../storage/keys/ops-token-file.ts';
import type { Caller, CookieSessions, Operators } from '../ops/operators.ts';

export interface ConsoleSession {
  readonly operator: Operator;
  /** Goes with every request of the page, as `X-Reveille-Csrf`. */
  readonly csrf: string;
  /** Wall milliseconds. */
  readonly expiresAtMs: number;
}

interface KnownSession {
  readonly tokenHash: Buffer;
  readonly csrf: string;
  /** Monotonic. */
  readonly deadlineMs: number;
  readonly expiresAtMs: number;
}

/** Of a session's secret, and of its proof: 43 characters of base64url. */
const secretBytes = 32;

type Asking = Pick<Caller, 'host' | 'cookies'>;

export class ConsoleSessions implements CookieSessions {
  readonly #clock: Clock;
  readonly #operators: Pick<Operators, 'identifyHash'>;
  /** By the hash of the secret, in the order of their logins, which is that of their deadlines. */
  readonly #known = new Map<string, KnownSession>();

  constructor(clock: Clock, operators: Pick<Operators, 'identifyHash'>) {
    this.#clock = clock;
    this.#operators = operators;
  }

  /** The secret of a new session, for its cookie. Null: the token is not valid now. Ends the token's oldest beyond 16. */
  begin(token: string): string | null {
    const tokenHash = hashOpsToken(token);
    if (this.#operators.identifyHash(tokenHash) === null) return null;
    this.#sweep();
    this.#makeRoom(tokenHash);
    const secret = randomBytes(secretBytes).toString('base64url');
    this.#known.set(keyOf(secret), {
      tokenHash,
      csrf: randomBytes(secretBytes).toString('base64url'),
      deadlineMs: this.#clock.monotonicMs() + consoleSessionMsMax,
      expiresAtMs: this.#clock.wallMs() + consoleSessionMsMax,
    });
    return secret;
  }

  /** Null: the cookie is of no session that lives. */
  find(asking: Asking): ConsoleSession | null {
    this.#sweep();
    const key = keyIn(asking);
    const known = this.#known.get(key);
    if (known === undefined) return null;
    const operator = this.#operators.identifyHash(known.tokenHash);
    if (operator !== null) return { operator, csrf: known.csrf, expiresAtMs: known.expiresAtMs };
    this.#known.delete(key);
    return null;
  }

  admit(caller: Asking & Pick<Caller, 'csrf'>): Operator | null {
    const session = this.find(caller);
    return session !== null && isSame(session.csrf, caller.csrf) ? session.operator : null;
  }

  end(asking: Asking): void {
    this.#known.delete(keyIn(asking));
  }

  #makeRoom(tokenHash: Buffer): void {
    const own = [...this.#known].filter(([, known]) => known.tokenHash.equals(tokenHash));
    for (const [key] of own.slice(0, Math.max(0, own.length + 1 - consoleSessionsPerTokenMax)))
      this.#known.delete(key);
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { deadlineMs }] of this.#known) {
      if (deadlineMs > nowMs) return;
      this.#known.delete(key);
    }
  }
}

/**
 * Browsers send a cookie to every port of its host: the name has the port, so that consoles of several servers on one machine,
 * or behind several tunnels, do not log each other out.
 */
export function cookieName(host: string): string {
  const port = /:(\d{1,5})$/.exec(host)?.[1];
  return port === undefined ? 'reveille_console' : `reveille_console_${port}`;
}

function keyIn({ host, cookies }: Asking): string {
  const secret = cookies[cookieName(host)];
  return secret === undefined ? '' : keyOf(secret);
}

/** Looking up a hash takes no time that tells of the secret. */
function keyOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
