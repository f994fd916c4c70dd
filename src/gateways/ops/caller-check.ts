/**
 * Admits a caller who holds a token and asks by a known name. The name keeps out a browser that was led here by another
 * name for this address, the origin keeps out the pages of others; viewers are checked for both, too.
 * Source: running.md, Processes and listeners.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { Operator } from '../../model/audit.ts';
import type { Operators } from './operators.ts';

export interface Caller {
  /** Header values; empty where there is none. */
  readonly host: string;
  readonly origin: string;
  readonly authorization: string;
}

export interface CallerRefusal {
  readonly status: 401 | 403;
  readonly message: string;
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/** A name or an address, IPv6 in brackets, with or without a port. */
const hostForm = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/;

const bearerPrefix = 'Bearer ';

export class CallerCheck {
  readonly #operators: Pick<Operators, 'identify'>;
  readonly #names: ReadonlySet<string>;

  /** `names`: hosts known beside the loopback ones, without a port, IPv6 with or without brackets. */
  constructor(operators: Pick<Operators, 'identify'>, names: readonly string[]) {
    this.#operators = operators;
    this.#names = new Set([...loopbackNames, ...names.map((name) => bracketed(name.toLowerCase()))]);
  }

  /** The operator who asks, or why the caller is refused. */
  admit(caller: Caller): Result<Operator, CallerRefusal> {
    const refusal = this.refuseViewer(caller);
    if (refusal !== null) return fail(refusal);
    const { authorization } = caller;
    const operator = authorization.startsWith(bearerPrefix)
      ? this.#operators.identify(authorization.slice(bearerPrefix.length))
      : null;
    if (operator !== null) return succeed(operator);
    return fail({ status: 401, message: 'the bearer token of ops.token, or of an operator, is needed' });
  }

  /** The same for a viewer, whose credential is of another kind and is not checked here. */
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
