/**
 * The sleep servers that a controller receives for its low-power module. All edges of this machine are one server, and so are edges
 * elsewhere that advertise the same address. Source: scale-out.md, Edges; docs/edges.md, Several sleep servers.
 */
import { hash } from 'node:crypto';
import { formatListenAddress } from '../lib/connections/listen-address.ts';
import type { DeviceId } from '../model/ids.ts';
import { sleepServersMax } from '../model/sleep.ts';
import type { EdgeFacts } from './sleep-front.ts';

/** `host:port` of one server, the preferred first; not empty. */
type Addresses = readonly string[];

/** Servers that accept devices now. `own`: addresses of this machine, listed even when no edge accepts. */
export function liveSleepServers(own: Addresses, edges: readonly EdgeFacts[]): readonly Addresses[] {
  const listening = edges.filter(({ state }) => state === 'listening');
  return listening.length === 0 ? [own] : listening.map((edge) => (edge.isLocal ? own : addressesOf(edge)));
}

/**
 * At most 3 addresses in the order to try: the first address of each server, then the second ones, and so on. Servers are sorted by the
 * SHA-256 of `<first address> <device id>`, which spreads devices over them; a server that joins or leaves changes no other order.
 */
export function sleepServersFor(deviceId: DeviceId, servers: readonly Addresses[]): readonly string[] {
  const distinct = [...new Map(servers.map((addresses) => [addresses[0], addresses])).values()];
  const ranked = distinct.length === 1 ? distinct : rank(deviceId, distinct);
  const longest = Math.max(...ranked.map(({ length }) => length));
  const inOrder = Array.from({ length: longest }, (_, place) =>
    ranked.flatMap((addresses) => addresses[place] ?? []),
  );
  return [...new Set(inOrder.flat())].slice(0, sleepServersMax);
}

function rank(deviceId: DeviceId, servers: readonly Addresses[]): readonly Addresses[] {
  const weighed = servers.map((addresses) => ({
    addresses,
    weight: hash('sha256', `${addresses[0]} ${deviceId}`),
  }));
  return weighed.sort((a, b) => (a.weight < b.weight ? -1 : 1)).map(({ addresses }) => addresses);
}

function addressesOf({ advertise, address }: EdgeFacts): Addresses {
  return advertise.length > 0 ? advertise : [formatListenAddress(address)];
}
