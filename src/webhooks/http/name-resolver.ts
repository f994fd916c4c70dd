/**
 * A receiver’s host name becomes the address to connect to: every address of the name is checked first, and the connection
 * goes to one of those that were checked, so that a name cannot change in between.
 */
import { lookup, Resolver } from 'node:dns/promises';
import type { LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { nameServerMs, nameServerTries, systemNamesWaitingMax } from '../delivery/limits.ts';
import { assert } from '../../lib/assert.ts';
import { refuseAddress } from './special-address.ts';

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

export interface NameResolver {
  /** All of its addresses; rejects when there is none, or nobody says. */
  resolve(host: string): Promise<readonly HostAddress[]>;
}

/** By definition, whatever a name server says. */
const localhostForm = /^(?:.+\.)?localhost\.?$/i;
const loopback: readonly HostAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** The name servers do not have it, or there are none. */
const askFurther: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ECONNREFUSED']);

export class SystemNames implements NameResolver {
  readonly #servers = new Resolver({ timeout: nameServerMs, tries: nameServerTries });
  #line: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  async resolve(host: string): Promise<readonly HostAddress[]> {
    if (localhostForm.test(host)) return loopback;
    const [v4, v6] = await Promise.allSettled([this.#servers.resolve4(host), this.#servers.resolve6(host)]);
    const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
    if (addresses.length > 0) return addresses;
    const failure = [v4, v6].map(codeOf).find((code) => !askFurther.has(code));
    if (failure !== undefined) throw new Error(`the name servers do not answer for ${host}: ${failure}`);
    return this.#askSystem(host);
  }

  #askSystem(host: string): Promise<HostAddress[]> {
    if (this.#waiting >= systemNamesWaitingMax) throw new Error(`too many names to resolve; ${host} is not`);
    this.#waiting += 1;
    const asked = this.#line.then(async () => {
      const found = await lookup(host, { all: true, verbatim: true });
      return found.map(({ address, family }): HostAddress => ({ address, family: family === 6 ? 6 : 4 }));
    });
    this.#line = asked.catch(() => undefined).finally(() => (this.#waiting -= 1));
    return asked;
  }
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): HostAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}

function codeOf(answer: PromiseSettledResult<string[]>): string {
  return answer.status === 'rejected' ? String((answer.reason as NodeJS.ErrnoException).code) : 'ENODATA';
}

/** For node:net, which must ask for all addresses (`autoSelectFamily`). */
export function checkedLookup(resolver: NameResolver, allowLocal: boolean): LookupFunction {
  const names = new CheckedNames(resolver, allowLocal);
  return callbackify(async (host: string, options: LookupOptions) => {
    assert(options.all === true, 'all addresses are asked for');
    return Array.from(await names.find(host));
  });
}

class CheckedNames {
  readonly #resolver: NameResolver;
  readonly #allowLocal: boolean;
  /** Lookups of one name that overlap are one. */
  readonly #underWay = new Map<string, Promise<readonly HostAddress[]>>();

  constructor(resolver: NameResolver, allowLocal: boolean) {
    this.#resolver = resolver;
    this.#allowLocal = allowLocal;
  }

  async find(host: string): Promise<readonly HostAddress[]> {
    const addresses = await this.#resolve(host);
    for (const { address } of addresses) {
      const refusal = refuseAddress(address, this.#allowLocal);
      if (refusal !== null) throw new Error(`${host}: ${refusal}`);
    }
    if (addresses.length === 0) throw new Error(`${host} has no address`);
    return addresses;
  }

  #resolve(host: string): Promise<readonly HostAddress[]> {
    const known = this.#underWay.get(host);
    if (known !== undefined) return known;
    const resolving = this.#resolver.resolve(host).finally(() => this.#underWay.delete(host));
    this.#underWay.set(host, resolving);
    return resolving;
  }
}
