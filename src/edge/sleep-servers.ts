/**
 * The sleep servers that a controller is given for its low-power module. All edges of this machine are one server, and so are edges
 * elsewhere that advertise one address. Source: scale-out.md, Edges; docs/edges.md, Several sleep servers.
 */
import { hash } from 'node:crypto';
import { formatListenAddress } from '../lib/connections/listen-address.ts';
import type { DeviceId } from '../model/ids.ts';
import { sleepServersMax } from '../model/sleep.ts';
import type { EdgeFacts } from './sleep-front.ts';

/** `host:port` of one server, the best first; not empty. */
type Addresses = readonly string[];

/** Servers that accept devices now, one for each edge. `own`: addresses of this machine, which stay when no edge accepts. */
export function liveSleepServers(own: Addresses, edges: readonly EdgeFacts[]): readonly Addresses[] {
  const listening = edges.filter(({ state }) => state === 'listening');
  return listening.length === 0 ? [own] : listening.map((edge) => (edge.isLocal ? own : addressesOf(edge)));
}

/**
 * At most 3 addresses, in the order to try: the first address of each server, then the second ones, and so on. Servers stand in the
 * order of the SHA-256 of `<first address> <device id>`, so that devices spread over them, and one server that goes or
 * comes changes the lists of no others.
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
