/**
 * The PROXY protocol header, version 2, by which a load balancer states a connection's source address. Only that address is
 * used; TLVs are skipped. Source: haproxy.org, proxy-protocol.txt, section 2.2; sleep-wire.md, TLS.
 */
import { proxyHeaderBytesMax } from '../../model/limits.ts';

export type ProxyHeaderStep =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'invalid' }
  /** `source`: an IPv4 or IPv6 address as text; null: the balancer's own connection, or no address. */
  | { readonly kind: 'header'; readonly source: string | null; readonly rest: Buffer };

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const fixedPartBytes = 16;
const local = 0x20;
const proxied = 0x21;
const tcp4 = 0x11;
const tcp6 = 0x21;
const familyMax = 0x3;
const transportMax = 0x2;

const incomplete: ProxyHeaderStep = { kind: 'incomplete' };
const invalid: ProxyHeaderStep = { kind: 'invalid' };

/** Decodes a header from chunks of any size. Invalid bytes are refused as soon as they arrive. */
export class ProxyHeaderDecoder {
  #held: Buffer | null = null;

  feed(chunk: Buffer): ProxyHeaderStep {
    const bytes = this.#held === null ? chunk : Buffer.concat([this.#held, chunk]);
    const common = Math.min(bytes.length, signature.length);
    if (bytes.compare(signature, 0, common, 0, common) !== 0) return invalid;
    this.#held = bytes;
    if (bytes.length < fixedPartBytes) return incomplete;
    const headerBytes = fixedPartBytes + bytes.readUInt16BE(14);
    if (headerBytes > proxyHeaderBytesMax) return invalid;
    if (bytes.length < headerBytes) return incomplete;
    return decodeHeader(bytes.subarray(0, headerBytes), bytes.subarray(headerBytes));
  }
}

function decodeHeader(header: Buffer, rest: Buffer): ProxyHeaderStep {
  const command = header[12];
  const family = header[13] ?? 0;
  if (command === local) return { kind: 'header', source: null, rest };
  if (command !== proxied) return invalid;
  if (family === tcp4) return addressed(header, 4, rest);
  if (family === tcp6) return addressed(header, 16, rest);
  // Unspecified, datagram and UNIX sources are well formed but have no address to count.
  const known = family >> 4 <= familyMax && (family & 0xf) <= transportMax;
  return known ? { kind: 'header', source: null, rest } : invalid;
}

/** Source address, destination address, two ports. */
function addressed(header: Buffer, addressBytes: 4 | 16, rest: Buffer): ProxyHeaderStep {
  if (header.length < fixedPartBytes + 2 * addressBytes + 4) return invalid;
  const source = header.subarray(fixedPartBytes, fixedPartBytes + addressBytes);
  return { kind: 'header', source: addressBytes === 4 ? source.join('.') : groupsOf(source), rest };
}

function groupsOf(address: Buffer): string {
  return Array.from({ length: 8 }, (_, i) => address.readUInt16BE(2 * i).toString(16)).join(':');
}
