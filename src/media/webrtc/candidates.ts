/**
 * The addresses by which clients reach this server: the library's candidates, or the same ports at the addresses of the settings.
 * Source: RFC 8839, 5.1.
 */
import { isIPv6 } from 'node:net';

/** Priority of a host candidate (RFC 8445, 5.1.2.1), with the library's local preference for a single transport. */
const priorityMax = 2_130_706_431;

/** `candidates`: the library's UDP candidates. */
export function advertised(candidates: readonly string[], addresses: readonly string[]): readonly string[] {
  if (addresses.length === 0) return candidates;
  const ports = new Set(candidates.flatMap((candidate) => candidate.split(' ')[5] ?? []));
  return [...ports].flatMap((port) =>
    addresses.map((address, index) => {
      const priority = priorityMax - index * 256 - (isIPv6(address) ? 0 : 128);
      return `${index + 1} 1 UDP ${priority} ${address} ${port} typ host`;
    }),
  );
}
