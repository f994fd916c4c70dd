/** Connections of Node's own servers that have not proved yet who they are. */
import type { Socket } from 'node:net';
import type { Cancel, Clock } from '../clock.ts';
import { addressKey } from './address-key.ts';
import { Crowd } from './crowd.ts';

export interface PendingLimits {
  /** For TLS and the request together, however they are sent. */
  readonly waitMs: number;
  /** Connections of one address (IPv6: one /64); 0: no such bound, as it must be behind a proxy. */
  readonly perAddressMax: number;
  /** Unproved connections, at present. */
  max(): number;
}

/** With TLS a connection is two objects: the accepted socket, and the one that is read. Both have its address. */
export type ConnectionEnds = Pick<Socket, 'remoteAddress' | 'remotePort'>;

interface Pending {
  readonly address: string;
  readonly socket: Socket;
  readonly cancel: Cancel;
}

/**
 * Connections that have not proved yet who they are: each has so long for its request, and beyond the limits one is
 * destroyed for a newcomer by the rule of `Crowd`. Node's own deadlines are one a step, TLS and then the request, and some
 * start again with every byte.
 */
export class PendingConnections {
  readonly #clock: Clock;
  readonly #limits: PendingLimits;
  readonly #pending = new Map<string, Pending>();
  readonly #crowd = new Crowd<Pending>();
  #refused = 0;
  #evicted = 0;

  constructor(clock: Clock, limits: PendingLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get unprovedCount(): number {
    return this.#crowd.size;
  }

  /** Number of connections that were destroyed when they arrived, since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** Number of connections that were destroyed for a newcomer, since the start. */
  get evicted(): number {
    return this.#evicted;
  }

  /** Destroys it now if there is no room for it, else when its time is up. To be called when it has just come. */
  begin(socket: Socket): void {
    const { waitMs, perAddressMax } = this.#limits;
    const address = addressKey(socket.remoteAddress ?? '');
    const nowMs = this.#clock.monotonicMs();
    const limits = { max: this.#limits.max(), perAddressMax };
    // Without addresses all are one crowd, of which none has fewer.
    const group = perAddressMax > 0 ? address : '';
    if (!this.#crowd.makeRoom(group, nowMs, limits, (evicted) => this.#evict(evicted))) {
      this.#refused += 1;
      socket.destroy();
      return;
    }
    const origin = originOf(socket);
    const cancel = this.#clock.after(waitMs, () => socket.destroy());
    const pending: Pending = { address: group, socket, cancel };
    this.#end(origin, this.#pending.get(origin));
    this.#pending.set(origin, pending);
    this.#crowd.add(group, pending, nowMs);
    socket.once('close', () => this.#end(origin, pending));
  }

  /** Its request is whole: its time is no longer limited here. */
  requested(socket: ConnectionEnds): void {
    this.#pending.get(originOf(socket))?.cancel();
  }

  /** It is never destroyed for a newcomer from now on. */
  proved(socket: ConnectionEnds): void {
    const pending = this.#pending.get(originOf(socket));
    if (pending !== undefined) this.#crowd.delete(pending.address, pending);
  }

  #evict(pending: Pending): void {
    this.#evicted += 1;
    pending.socket.destroy();
    this.#end(originOf(pending.socket), pending);
  }

  /** Does nothing for one that has ended before. */
  #end(origin: string, pending: Pending | undefined): void {
    if (pending === undefined) return;
    pending.cancel();
    this.#crowd.delete(pending.address, pending);
    if (this.#pending.get(origin) === pending) this.#pending.delete(origin);
  }
}

function originOf({ remoteAddress, remotePort }: ConnectionEnds): string {
  return `${remoteAddress} ${remotePort}`;
}
