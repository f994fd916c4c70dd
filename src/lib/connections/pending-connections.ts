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
  /** True: a connection may be destroyed for a newcomer as soon as it is there, where a proof takes no time. */
  readonly evictsAtOnce?: boolean;
  /** Unproved connections, at present. */
  max(): number;
}

/** With TLS a connection is two objects: the accepted socket, and the one that is read. Both have its address. */
export type ConnectionEnds = Pick<Socket, 'remoteAddress' | 'remotePort'>;

interface Pending {
  readonly origin: string;
  readonly address: string;
  readonly socket: Socket;
  readonly cancel: Cancel;
  hasRequested: boolean;
  isProved: boolean;
}

/**
 * Connections that have not proved yet who they are: each has so long for its request, and beyond the limits one is
 * destroyed for a newcomer by the rule of `Crowd`. Node's own deadlines are one a step, TLS and then the request, and some
 * start again with every byte. Of a connection that is proved nothing is kept.
 */
export class PendingConnections {
  readonly #clock: Clock;
  readonly #limits: PendingLimits;
  readonly #byOrigin = new Map<string, Pending>();
  readonly #bySocket = new Map<Socket, Pending>();
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
    const nowMs = this.#clock.monotonicMs();
    const limits = { max: this.#limits.max(), perAddressMax };
    // Without addresses all are one crowd, of which none has fewer.
    const address = perAddressMax > 0 ? addressKey(socket.remoteAddress ?? '') : '';
    if (!this.#crowd.makeRoom(address, nowMs, limits, (evicted) => this.#evict(evicted))) {
      this.#refused += 1;
      socket.destroy();
      return;
    }
    const origin = originOf(socket);
    const cancel = this.#clock.after(waitMs, () => socket.destroy());
    const pending: Pending = { origin, address, socket, cancel, hasRequested: false, isProved: false };
    this.#end(this.#byOrigin.get(origin));
    this.#byOrigin.set(origin, pending);
    this.#bySocket.set(socket, pending);
    this.#crowd.add(address, pending, this.#limits.evictsAtOnce === true ? -Infinity : nowMs);
  }

  /** Its request is whole: its time is no longer limited here. */
  requested(socket: ConnectionEnds): void {
    const pending = this.#byOrigin.get(originOf(socket));
    if (pending === undefined) return;
    pending.cancel();
    pending.hasRequested = true;
    if (pending.isProved) this.#end(pending);
  }

  /** It is never destroyed for a newcomer from now on. */
  proved(socket: ConnectionEnds): void {
    const pending = this.#byOrigin.get(originOf(socket));
    if (pending === undefined) return;
    this.#crowd.delete(pending.address, pending);
    pending.isProved = true;
    if (pending.hasRequested) this.#end(pending);
  }

  /** The accepted socket has closed. To be called for every one that began. */
  closed(socket: Socket): void {
    this.#end(this.#bySocket.get(socket));
  }

  #evict(pending: Pending): void {
    this.#evicted += 1;
    pending.socket.destroy();
    this.#end(pending);
  }

  /** Does nothing for one that has ended before. */
  #end(pending: Pending | undefined): void {
    if (pending === undefined) return;
    pending.cancel();
    this.#crowd.delete(pending.address, pending);
    this.#bySocket.delete(pending.socket);
    if (this.#byOrigin.get(pending.origin) === pending) this.#byOrigin.delete(pending.origin);
  }
}

function originOf({ remoteAddress, remotePort }: ConnectionEnds): string {
  return `${remoteAddress} ${remotePort}`;
}
