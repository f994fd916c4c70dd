/**
 * SSRF protection: connections to receivers with checked addresses. All resolved addresses of a host are checked before one is
 * connected to, against DNS rebinding, and the peer's address again before a byte is sent. Loopback, link-local, private and all
 * other special addresses are rejected, also IPv4 ones embedded in IPv6. `webhooks.allow_local` permits them, except for the
 * metadata addresses of clouds, where machines read their credentials.
 * Source: events.md, Webhooks.
 */
import { lookup, Resolver } from 'node:dns/promises';
import type { LookupOptions } from 'node:dns';
import { type LookupFunction, Socket } from 'node:net';
import { callbackify } from 'node:util';
import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import ipaddr from 'ipaddr.js';
import { assert } from '../../lib/assert.ts';
import { SerialQueue } from '../../lib/collections/queues.ts';

/** Maximum idle connections to all receivers together, and their timeout. */
const idleConnectionsMax = 128;
const idleConnectionMs = 15_000;
/** Time for one address of a host to connect before the next one is tried. */
const addressAttemptMs = 3000;
/** Timeout of a name server, and number of attempts. */
const nameServerMs = 4000;
const nameServerTries = 2;
/** Maximum names that wait for the system resolver, which handles one at a time. */
const systemNamesWaitingMax = 64;

type Range<Address> = readonly [network: Address, bits: number];

/** The allocated unicast range. The deprecated form ::127.0.0.1 and unassigned ranges are outside. */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** All of link-local, which every cloud uses, then Azure, Alibaba and Oracle. */
const metadataIPv4 = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'].map(
  (range): Range<ipaddr.IPv4> => ipaddr.IPv4.parseCIDR(range),
);

/** AWS, Google, Scaleway. OpenStack's fe80::a9fe:a9fe embeds 169.254.169.254. */
const metadataIPv6 = ['fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:42::42/128'].map(
  (range): Range<ipaddr.IPv6> => ipaddr.IPv6.parseCIDR(range),
);

/** Returns the name of the special range; `unknown`: not an address; null: a public address. */
function specialRange(address: string): string | null {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (isMetadata(parsed)) return 'cloudMetadata';
  const range = parsed.range();
  if (range !== 'unicast') return range;
  return parsed.kind() === 'ipv4' || isGlobal(parsed) ? null : 'reserved';
}

/** Returns why the address is rejected; null: it is allowed. */
export function refuseAddress(address: string, allowLocal: boolean): string | null {
  const range = specialRange(address);
  if (range === 'cloudMetadata')
    return `${address} is a cloud metadata address; webhooks are never sent there`;
  if (range === null || allowLocal) return null;
  return `${address} is a special address (${range}); to allow it, set webhooks.allow_local`;
}

function isMetadata(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv4)
    return metadataIPv4.some(([network, bits]) => address.match(network, bits));
  return (
    metadataIPv6.some(([network, bits]) => address.match(network, bits)) ||
    wrappedIPv4(address).some(isMetadata)
  );
}

/** The IPv4 addresses embedded in an IPv6 address, to which its packets may be routed. */
function wrappedIPv4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  if (address.range() === '6to4') return [new ipaddr.IPv4(bytes.slice(2, 6))];
  if (address.range() === 'teredo')
    return [new ipaddr.IPv4(bytes.slice(4, 8)), new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff))];
  // NAT64 and all older forms embed it at the end.
  return isGlobal(address) ? [] : [new ipaddr.IPv4(bytes.slice(12))];
}

function isGlobal(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.match(globalUnicast);
}

export interface HostAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

export interface NameResolver {
  /** Resolves all addresses of the host; rejects if there is none or the resolver fails. */
  resolve(host: string): Promise<readonly HostAddress[]>;
}

/** Loopback by definition, without asking a name server. */
const localhostForm = /^(?:.+\.)?localhost\.?$/i;
const loopback: readonly HostAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** The name servers do not know the name, or there are none: ask the system resolver. */
const askFurther: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ECONNREFUSED']);

export class SystemNames implements NameResolver {
  readonly #servers = new Resolver({ timeout: nameServerMs, tries: nameServerTries });
  readonly #line = new SerialQueue();
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
    if (this.#waiting >= systemNamesWaitingMax)
      throw new Error(`cannot resolve ${host}: ${systemNamesWaitingMax} names are waiting for the resolver`);
    this.#waiting += 1;
    const asked = this.#line.run(async () => {
      const found = await lookup(host, { all: true, verbatim: true });
      return found.map(({ address, family }): HostAddress => ({ address, family: family === 6 ? 6 : 4 }));
    });
    return asked.finally(() => (this.#waiting -= 1));
  }
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): HostAddress[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : [];
}

function codeOf(answer: PromiseSettledResult<string[]>): string {
  return answer.status === 'rejected' ? String((answer.reason as NodeJS.ErrnoException).code) : 'ENODATA';
}

/** A lookup for node:net, which must request all addresses (`autoSelectFamily`). Concurrent lookups of one name are shared. */
export function checkedLookup(resolver: NameResolver, allowLocal: boolean): LookupFunction {
  const underWay = new Map<string, Promise<readonly HostAddress[]>>();
  const resolve = (host: string): Promise<readonly HostAddress[]> => {
    const resolving = underWay.get(host) ?? resolver.resolve(host).finally(() => void underWay.delete(host));
    underWay.set(host, resolving);
    return resolving;
  };
  return callbackify(async (host: string, options: LookupOptions) => {
    assert(options.all === true, 'node:net requests all addresses');
    const addresses = await resolve(host);
    for (const { address } of addresses) {
      const refusal = refuseAddress(address, allowLocal);
      if (refusal !== null) throw new Error(`${host}: ${refusal}`);
    }
    if (addresses.length === 0) throw new Error(`${host} has no address`);
    return Array.from(addresses);
  });
}

const options = {
  keepAlive: true,
  timeout: idleConnectionMs,
  maxFreeSockets: idleConnectionsMax,
  // Tries one address after another, each for longer than the default of 250 ms.
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: addressAttemptMs,
} as const;

/** An agent with few idle connections, closed soon. The number of attempts bounds the connections in use. */
export function keptConnections(kind: typeof HttpAgent | typeof HttpsAgent, allowLocal: boolean): HttpAgent {
  const agent = new kind(options);
  const connect = agent.createConnection.bind(agent);
  const keepAlive = agent.keepSocketAlive.bind(agent);
  agent.createConnection = (args, connected) => checked(connect(args, connected), allowLocal);
  // Undocumented in Node's types: any result but true closes the connection.
  agent.keepSocketAlive = (socket) => (hasRoom(agent) ? keepAlive(socket) : undefined);
  return agent;
}

function hasRoom({ freeSockets }: HttpAgent): boolean {
  let idle = 0;
  for (const sockets of Object.values(freeSockets)) idle += sockets?.length ?? 0;
  return idle < idleConnectionsMax;
}

/** Checks the peer's address before any other `connect` listener runs, and so before anything is written. */
function checked(connection: Duplex | null | undefined, allowLocal: boolean): Duplex | null | undefined {
  if (!(connection instanceof Socket)) return connection;
  connection.prependOnceListener('connect', () => {
    const refusal = refuseAddress(connection.remoteAddress ?? '', allowLocal);
    if (refusal !== null) connection.destroy(new Error(refusal));
  });
  return connection;
}
