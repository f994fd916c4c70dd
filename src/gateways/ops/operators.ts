/**
 * Operators on the ops listener: the valid tokens, which are `ops.token` and the named ones of the file, changed in memory and on
 * disk together; and the check of a caller's token and host name.
 * Source: running.md, Processes and listeners.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import { timingSafeEqual } from 'node:crypto';
import { wallSeconds, type Cancel } from '../../lib/clock.ts';
import { type Result, fail, messageOf, succeed } from '../../lib/result.ts';
import { SerialQueue } from '../../lib/collections/queues.ts';
import { opsTokenUseWriteMs } from '../../model/limits.ts';
import { localOperator, type Operator } from '../../model/audit.ts';
import {
  hashOpsToken,
  type FreshOpsToken,
  type OpsTokenFile,
  type OpsTokenRefusal,
  type StoredOpsToken,
} from '../../storage/keys/ops-token-file.ts';

export interface OperatorsDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly file: OpsTokenFile;
  readonly localToken: string;
}

interface Holder extends Operator {
  readonly hash: Buffer;
  readonly sha256: string;
}

/** Writes the last use of a named token later, at most once a minute. */
export class Operators {
  readonly #deps: OperatorsDeps;
  readonly #local: Holder;
  #tokens: readonly StoredOpsToken[] = [];
  #holders: readonly Holder[];
  /** Unwritten last uses, Unix seconds by hash. */
  readonly #uses = new Map<string, number>();
  #writtenMs = -Infinity;
  #cancelWrite: Cancel | null = null;
  readonly #changes = new SerialQueue();

  constructor(deps: OperatorsDeps) {
    this.#deps = deps;
    const hash = hashOpsToken(deps.localToken);
    this.#local = { ...localOperator, hash, sha256: hash.toString('hex') };
    this.#holders = [this.#local];
  }

  /** Rejects with a StoreOpenError if the file cannot be used. */
  async open(): Promise<void> {
    await this.#changes.run(async () => this.#adopt(await this.#deps.file.read()));
  }

  /** Null: the token is not valid. */
  identify(token: string): Operator | null {
    return this.identifyHash(hashOpsToken(token));
  }

  /** As `identify`, by the token's hash, which is all that a console session stores. */
  identifyHash(hash: Buffer): Operator | null {
    // Timing attack: compares with every token, each in constant time.
    let found: Holder | null = null;
    for (const holder of this.#holders) if (timingSafeEqual(holder.hash, hash)) found = holder;
    if (found === null) return null;
    if (found !== this.#local) this.#recordUse(found.sha256);
    return { name: found.name, role: found.role };
  }

  /** The named tokens in order of creation, including unwritten last uses. */
  get stored(): readonly StoredOpsToken[] {
    return this.#tokens.map((token) => {
      return { ...token, lastUsedAtS: this.#uses.get(token.sha256) ?? token.lastUsedAtS };
    });
  }

  /** Rejects with a StoreOpenError, and changes nothing, if the file cannot be read or written. */
  create(operator: Operator): Promise<Result<FreshOpsToken, OpsTokenRefusal>> {
    return this.#changes.run(async () => {
      const created = await this.#deps.file.create(operator, wallSeconds(this.#deps.clock));
      if (created.ok) this.#adopt(created.value.tokens);
      return created;
    });
  }

  /** False: no such token. Rejects like `create`. */
  revoke(name: string): Promise<boolean> {
    return this.#changes.run(async () => {
      const left = await this.#deps.file.revoke(name);
      if (left !== null) this.#adopt(left);
      return left !== null;
    });
  }

  /** Reloads the file on SIGHUP. Never rejects: on an error it logs and keeps the valid tokens. Resolves to the error; null: none. */
  async reload(): Promise<string | null> {
    try {
      await this.open();
      return null;
    } catch (error) {
      this.#deps.log.error({ err: error }, "operators' tokens: not reloaded; the current ones stay valid");
      return `operators' tokens: ${messageOf(error)}`;
    }
  }

  /** Resolves when the latest uses are written. */
  async close(): Promise<void> {
    this.#cancelWrite?.();
    if (this.#uses.size > 0) await this.#writeUses();
  }

  #adopt(tokens: readonly StoredOpsToken[]): void {
    this.#tokens = tokens;
    this.#holders = [
      this.#local,
      ...tokens.map(({ name, role, sha256 }) => ({ name, role, sha256, hash: Buffer.from(sha256, 'hex') })),
    ];
  }

  #recordUse(sha256: string): void {
    const { clock } = this.#deps;
    this.#uses.set(sha256, wallSeconds(clock));
    if (this.#cancelWrite !== null) return;
    const delayMs = Math.max(0, this.#writtenMs + opsTokenUseWriteMs - clock.monotonicMs());
    this.#cancelWrite = clock.after(delayMs, () => void this.#writeUses());
  }

  async #writeUses(): Promise<void> {
    this.#cancelWrite = null;
    this.#writtenMs = this.#deps.clock.monotonicMs();
    const uses = new Map(this.#uses);
    try {
      await this.#changes.run(async () => this.#adopt(await this.#deps.file.recordUses(uses)));
      // Keeps the uses recorded during the write.
      for (const [sha256, atS] of uses) if (this.#uses.get(sha256) === atS) this.#uses.delete(sha256);
    } catch (error) {
      this.#deps.log.error({ err: error }, 'tokens: last use not saved; retried at the next use');
    }
  }
}

export interface Caller {
  /** Header values; empty if absent. */
  readonly host: string;
  readonly origin: string;
  readonly authorization: string;
  readonly cookies: Readonly<Record<string, string | undefined>>;
  /** The CSRF proof in a request by cookie: only the session's page knows it. */
  readonly csrf: string;
}

export interface CallerRefusal {
  readonly status: 401 | 403;
  readonly message: string;
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/** A name or an address, IPv6 in brackets, with or without a port. */
const hostForm = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/;

const bearerForm = /^bearer +([\x21-\x7e]+)$/i;

/** The token of an Authorization header; null: another scheme. */
export function findBearer(authorization: string): string | null {
  return bearerForm.exec(authorization)?.[1] ?? null;
}

/** The sessions of the console, whose cookie stands for a token. */
export interface CookieSessions {
  /** Null: the cookie belongs to no live session, or the request does not come from its page. */
  admit(caller: Pick<Caller, 'host' | 'cookies' | 'csrf'>): Operator | null;
}

const noCookieSessions: CookieSessions = { admit: () => null };

/**
 * Admits callers with a token or a console session who use a known host name. The host check stops DNS rebinding, the origin
 * check stops other sites' pages; both apply to viewers too.
 */
export class CallerCheck {
  readonly #operators: Pick<Operators, 'identify'>;
  readonly #sessions: CookieSessions;
  readonly #names: ReadonlySet<string>;

  /** `names`: known hosts besides the loopback ones, without a port, IPv6 with or without brackets. */
  constructor(
    operators: Pick<Operators, 'identify'>,
    names: readonly string[],
    sessions: CookieSessions = noCookieSessions,
  ) {
    this.#operators = operators;
    this.#sessions = sessions;
    this.#names = new Set([...loopbackNames, ...names.map((name) => bracketed(name.toLowerCase()))]);
  }

  /** The operator, or the reason of the refusal. */
  admit(caller: Caller): Result<Operator, CallerRefusal> {
    const refusal = this.refuseViewer(caller);
    if (refusal !== null) return fail(refusal);
    const token = findBearer(caller.authorization);
    const operator = token === null ? this.#sessions.admit(caller) : this.#operators.identify(token);
    if (operator !== null) return succeed(operator);
    return fail({ status: 401, message: 'the bearer token of ops.token or of an operator is required' });
  }

  /** The same checks for a viewer, except the credential, which is of another kind. */
  refuseViewer({ host, origin }: Caller): CallerRefusal | null {
    const name = hostForm.exec(host.toLowerCase())?.[1];
    if (name === undefined || !this.#names.has(name)) return { status: 403, message: 'unknown Host' };
    if (origin !== '' && !isOwnOrigin(origin, host)) return { status: 403, message: 'foreign Origin' };
    return null;
  }
}

function bracketed(name: string): string {
  return name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
}

function isOwnOrigin(origin: string, host: string): boolean {
  const own = host.toLowerCase();
  return [`http://${own}`, `https://${own}`].includes(origin.toLowerCase());
}
