/** Listen addresses, as text and in parts. Loads no schema library, because edge processes use it. */
import { isIP, isIPv6 } from 'node:net';

export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

const listenForm = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:[\]\s]+)):(?<port>\d{1,5})$/;

/** Parses `host:port`, an IPv6 address in brackets; null otherwise. */
export function parseListenAddress(text: string): ListenAddress | null {
  const { six, host, port } = listenForm.exec(text)?.groups ?? {};
  if (Number(port ?? Infinity) > 65_535) return null;
  if (six !== undefined && !isIPv6(six)) return null;
  return { host: six ?? host ?? '', port: Number(port) };
}

export function formatListenAddress({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** True if only this machine can connect to it. */
export function isLoopback({ host }: ListenAddress): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

const loopbacks: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The address at which this machine connects to a listener: 0.0.0.0 and [::] become loopback. */
export function reachableHere({ host, port }: ListenAddress): ListenAddress {
  return { host: loopbacks[host] ?? host, port };
}

/** `setting`: the name of the address's setting. Default: none. */
export function cannotListen(at: ListenAddress, cause?: unknown, setting = ''): Error {
  const where = `${formatListenAddress(at)}${setting === '' ? '' : ` (${setting})`}`;
  return new Error(`cannot listen on ${where}: in use, or not an address of this machine`, { cause });
}
