/**
 * How a receiver's host name becomes the address that is connected to. Every address that the name has is checked
 * first, and what is connected to is one of those that were checked: nothing is resolved twice, so nothing can answer
 * differently the second time. One forbidden address refuses the host.
 */
import type { LookupOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { assert } from '../../lib/assert.ts';
import type { HostAddress, NameResolver } from './name-resolver.ts';
import { refuseAddress } from './special-address.ts';

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
