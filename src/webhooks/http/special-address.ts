/**
 * Which addresses a webhook may not go to: loopback, link-local, private and every other special one, also where an
 * IPv6 address only wraps an IPv4 one. A setting lets special ones in, but never those at which a cloud tells a machine
 * its secrets: no receiver lives there. Source: events.md, Webhooks.
 */
import ipaddr from 'ipaddr.js';

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
export function specialRange(address: string): string | null {
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
