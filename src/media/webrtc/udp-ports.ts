/**
 * The UDP ports of WebRTC connections, taken before the library is told of one: it ends the process when it cannot have its
 * port. One that all connections share is held from the first of them on; of a range each has one that is free.
 */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { holdUdpPort, type RtcEngine } from './rtc-engine.ts';

export interface RtcTransportSettings {
  /** An address to bind; null: every one. */
  readonly host: string | null;
  /** UDP: one that all connections share, or a range of which each takes one. */
  readonly ports: { readonly first: number; readonly last: number };
}

export interface UdpPort {
  /** As above. */
  readonly host: string | null;
  readonly port: number;
  readonly isShared: boolean;
  /** Behind the end of its connection. */
  release(): void;
}

export class UdpPorts {
  readonly #engine: RtcEngine;
  readonly #find: () => RtcTransportSettings;
  /** Of a range. */
  readonly #taken = new Set<number>();
  #turn = 0;
  /** Lets go of the shared one; null: it is not held. */
  #letGo: (() => void) | null = null;

  constructor(engine: RtcEngine, find: () => RtcTransportSettings) {
    this.#engine = engine;
    this.#find = find;
  }

  /** Rejects, with a sentence, when there is none. */
  async take(): Promise<UdpPort> {
    const { host, ports } = this.#find();
    if (ports.first !== ports.last) return this.#takeOf(host, ports);
    this.#letGo ??= holdUdpPort(this.#engine, host, ports.first);
    return { host, port: ports.first, isShared: true, release: () => undefined };
  }

  close(): void {
    this.#letGo?.();
    this.#letGo = null;
  }

  /** In turn: the library lets go of a port some time behind its connection. */
  async #takeOf(host: string | null, { first, last }: RtcTransportSettings['ports']): Promise<UdpPort> {
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
