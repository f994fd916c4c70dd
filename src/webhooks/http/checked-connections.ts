/**
 * Connections to receivers, each of whose addresses is checked: all those of a host's name before one of them is connected
 * to, so that a name cannot change in between, and the peer's once more before a byte is sent. A webhook may not go to
 * loopback, link-local, private and every other special address, also where an IPv6 address only wraps an IPv4 one. A
 * setting lets special ones in, but never those at which a cloud tells a machine its secrets: no receiver lives there.
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

/** Connections kept open between attempts, to all receivers together, and for how long. */
const idleConnectionsMax = 128;
const idleConnectionMs = 15_000;
/** Time that one address of a host has to connect before the next one is tried. */
const addressAttemptMs = 3000;
/** A name server's answer, and how often it is asked. */
const nameServerMs = 4000;
const nameServerTries = 2;
/** Names that wait for the system's own resolver, which is asked for one at a time. */
const systemNamesWaitingMax = 64;

type Range<Address> = readonly [network: Address, bits: number];

/** All that is given out for unicast. What the old form ::127.0.0.1 wraps is outside, like much that is not assigned. */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** Link-local all through, since every cloud has its own address there, then Azure, Alibaba and Oracle. */
const metadataIPv4 = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'].map(
  (range): Range<ipaddr.IPv4> => ipaddr.IPv4.parseCIDR(range),
);

/** AWS, Google, Scaleway; what OpenStack has, fe80::a9fe:a9fe, is 169.254.169.254 at its end. */
const metadataIPv6 = ['fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:42::42/128'].map(
  (range): Range<ipaddr.IPv6> => ipaddr.IPv6.parseCIDR(range),
);

/** What is special about the address, in a word; null: a webhook may go there. What is no address is `unknown`. */
function specialRange(address: string): string | null {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (isMetadata(parsed)) return 'cloudMetadata';
  const range = parsed.range();
  if (range !== 'unicast') return range;
  return parsed.kind() === 'ipv4' || isGlobal(parsed) ? null : 'reserved';
}

/** Why a webhook may not go to the address; null: it may. */
export function refuseAddress(address: string, allowLocal: boolean): string | null {
  const range = specialRange(address);
  if (range === 'cloudMetadata')
    return `${address} is where a cloud tells machines their secrets; no webhook goes there`;
  if (range === null || allowLocal) return null;
  return `${address} is a special address (${range}); webhooks go there only with webhooks.allow_local`;
}

function isMetadata(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address instanceof ipaddr.IPv4)
    return metadataIPv4.some(([network, bits]) => address.match(network, bits));
  return (
    metadataIPv6.some(([network, bits]) => address.match(network, bits)) ||
    wrappedIPv4(address).some(isMetadata)
  );
}

/** The IPv4 addresses that packets to this one may end at. */
function wrappedIPv4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  if (address.range() === '6to4') return [new ipaddr.IPv4(bytes.slice(2, 6))];
  if (address.range() === 'teredo')
    return [new ipaddr.IPv4(bytes.slice(4, 8)), new ipaddr.IPv4(bytes.slice(12).map((byte) => byte ^ 0xff))];
  // NAT64 and every older form have it at the end.
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

/** For node:net, which must ask for all addresses (`autoSelectFamily`). Lookups of one name that overlap are one. */
export function checkedLookup(resolver: NameResolver, allowLocal: boolean): LookupFunction {
  const underWay = new Map<string, Promise<readonly HostAddress[]>>();
  const resolve = (host: string): Promise<readonly HostAddress[]> => {
    const resolving = underWay.get(host) ?? resolver.resolve(host).finally(() => void underWay.delete(host));
    underWay.set(host, resolving);
    return resolving;
  };
  return callbackify(async (host: string, options: LookupOptions) => {
    assert(options.all === true, 'all addresses are asked for');
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
  // One address of a host after the other, each for longer than the quarter of a second that is the default.
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: addressAttemptMs,
} as const;

/** Kept open between attempts: few of them, and not for long. How many are in use is bounded by the attempts under way. */
export function keptConnections(kind: typeof HttpAgent | typeof HttpsAgent, allowLocal: boolean): HttpAgent {
  const agent = new kind(options);
  const connect = agent.createConnection.bind(agent);
  const keepAlive = agent.keepSocketAlive.bind(agent);
  agent.createConnection = (args, connected) => checked(connect(args, connected), allowLocal);
  // Node's types hide that it answers: what is not true closes the connection.
  agent.keepSocketAlive = (socket) => (hasRoom(agent) ? keepAlive(socket) : undefined);
  return agent;
}

function hasRoom({ freeSockets }: HttpAgent): boolean {
  let idle = 0;
  for (const sockets of Object.values(freeSockets)) idle += sockets?.length ?? 0;
  return idle < idleConnectionsMax;
}

/** Before anybody else hears that it is connected, and so before anything is written. */
function checked(connection: Duplex | null | undefined, allowLocal: boolean): Duplex | null | undefined {
  if (!(connection instanceof Socket)) return connection;
  connection.prependOnceListener('connect', () => {
    const refusal = refuseAddress(connection.remoteAddress ?? '', allowLocal);
    if (refusal !== null) connection.destroy(new Error(refusal));
  });
  return connection;
}
