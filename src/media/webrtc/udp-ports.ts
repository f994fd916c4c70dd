/**
 * The UDP ports of WebRTC connections, bound before the library uses them, because it ends the process if it cannot bind its port. A
 * shared port is bound from the first connection on; from a range each connection gets a free one.
 */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { bindUdpPort, type RtcEngine } from './rtc-engine.ts';

export interface RtcTransportSettings {
  /** Address to bind; null: all addresses. */
  readonly host: string | null;
  /** One port that all connections share, or a range with one for each. */
  readonly ports: { readonly first: number; readonly last: number };
}

export interface UdpPort {
  readonly host: string | null;
  readonly port: number;
  readonly isShared: boolean;
  /** To be called after the end of its connection. */
  release(): void;
}

export class UdpPorts {
  readonly #engine: RtcEngine;
  readonly #find: () => RtcTransportSettings;
  /** Ports of a range in use. */
  readonly #taken = new Set<number>();
  #turn = 0;
  /** Releases the shared port; null: it is not bound. */
  #release: (() => void) | null = null;

  constructor(engine: RtcEngine, find: () => RtcTransportSettings) {
    this.#engine = engine;
    this.#find = find;
  }

  /** Rejects with a sentence if no port is free. */
  async acquire(): Promise<UdpPort> {
    const { host, ports } = this.#find();
    if (ports.first !== ports.last) return this.#acquireFromRange(host, ports);
    this.#release ??= bindUdpPort(this.#engine, host, ports.first);
    return { host, port: ports.first, isShared: true, release: () => undefined };
  }

  close(): void {
    this.#release?.();
    this.#release = null;
  }

  /** Round robin, because the library releases a port some time after its connection. */
  async #acquireFromRange(
    host: string | null,
    { first, last }: RtcTransportSettings['ports'],
  ): Promise<UdpPort> {
    const count = last - first + 1;
    for (let i = 0; i < count; i += 1) {
      const port = first + (this.#turn % count);
      this.#turn += 1;
      if (this.#taken.has(port)) continue;
      const release = (): void => void this.#taken.delete(port);
      this.#taken.add(port);
      if (await isFree(host, port)) return { host, port, isShared: false, release };
      release();
    }
    throw new Error(`no UDP port of ${first}-${last} is free`);
  }
}

function isFree(host: string | null, port: number): Promise<boolean> {
  const address = host ?? '0.0.0.0';
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  return new Promise((resolve) => {
    socket.once('error', () => socket.close(() => resolve(false)));
    socket.bind({ address, port, exclusive: true }, () => socket.close(() => resolve(true)));
  });
}
