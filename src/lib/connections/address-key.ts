/** The key by which connections of a remote address are counted. Source: sleep-wire.md, Storms. */
import type { HttpResponse } from '../uws.ts';

/**
 * An IPv4 address in its plain form, or the /64 of an IPv6 address, since one holder usually has a whole /64. `address`: as Node
 * or a PROXY header states it: valid, possibly with a zone.
 */
export function addressKey(address: string): string {
  if (!address.includes(':')) return address;
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1);
  const groups = expand(address);
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535') return dotted(groups);
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}/64`;
}

/** The same address; an IPv4-mapped IPv6 address becomes plain IPv4. */
export function plainAddress(address: string): string {
  const key = addressKey(address);
  return key.endsWith('/64') ? address : key;
}

/** The eight groups as numbers. */
function expand(address: string): number[] {
  const [bare = ''] = address.split('%');
  const [head = '', tail = ''] = bare.split('::');
  const front = groupsOf(head);
  const back = groupsOf(tail);
  const between = Array.from({ length: 8 - front.length - back.length }, () => 0);
  return [...front, ...between, ...back];
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** The last two groups as an IPv4 address. */
function dotted(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

/** Empty once the peer has disconnected. */
export function remoteAddress(response: Pick<HttpResponse, 'getRemoteAddressAsText'>): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString('latin1');
}
