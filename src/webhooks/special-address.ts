/**
 * Which addresses a webhook may not go to: loopback, link-local, private and every other special one, also where an
 * IPv6 address only wraps an IPv4 one. Source: events.md, Webhooks.
 */
import ipaddr from 'ipaddr.js';

/** All that is given out for unicast. What the old form ::127.0.0.1 wraps is outside, like much that is not assigned. */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** What is special about the address, in a word; null: a webhook may go there. What is no address is `unknown`. */
export function specialRange(address: string): string | null {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  if (range !== 'unicast') return range;
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicast) ? null : 'reserved';
}

/** Why a webhook may not go to the address; null: it may. */
export function refuseAddress(address: string, allowLocal: boolean): string | null {
  const range = allowLocal ? null : specialRange(address);
  if (range === null) return null;
  return `${address} is a special address (${range}); webhooks go there only with webhooks.allow_local`;
}
