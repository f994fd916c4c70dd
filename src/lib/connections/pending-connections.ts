/** Unauthenticated connections of Node's own servers. */
import type { Socket } from 'node:net';
import type { Cancel, Clock } from '../clock.ts';
import { addressKey } from './address-key.ts';
import { Crowd } from './crowd.ts';

export interface PendingLimits {
  /** Deadline of the TLS handshake and the request together. */
  readonly waitMs: number;
  /** Connections of one address (IPv6: one /64); 0: unlimited, as behind a proxy. */
  readonly perAddressMax: number;
  /** True: a connection may be evicted at once, where authentication takes no time. Default: after a grace. */
  readonly evictsAtOnce?: boolean;
  max(): number;
}

/** With TLS a connection is two objects, the accepted socket and the TLS socket; both have its address. */
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
 * Each unauthenticated connection has one deadline for its request, and at the limits one is evicted by the rule of `Crowd`.
 * Node's own deadlines are per step, and some restart with every byte. An authenticated connection is no longer tracked.
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

  get refused(): number {
    return this.#refused;
  }

  get evicted(): number {
    return this.#evicted;
  }

  /** Call it when a socket is accepted: destroys it if there is no room, else at its deadline. */
  begin(socket: Socket): void {
    const { waitMs, perAddressMax } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const limits = { max: this.#limits.max(), perAddressMax };
    // Without addresses all connections form one group of equals.
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

  /** The request is complete: its deadline no longer applies. */
  requested(socket: ConnectionEnds): void {
    const pending = this.#byOrigin.get(originOf(socket));
    if (pending === undefined) return;
    pending.cancel();
    pending.hasRequested = true;
    if (pending.isProved) this.#end(pending);
  }

  /** The connection is authenticated, and never evicted from now on. */
  proved(socket: ConnectionEnds): void {
    const pending = this.#byOrigin.get(originOf(socket));
    if (pending === undefined) return;
    this.#crowd.delete(pending.address, pending);
    pending.isProved = true;
    if (pending.hasRequested) this.#end(pending);
  }

  /** Call it when an accepted socket has closed. */
  closed(socket: Socket): void {
    this.#end(this.#bySocket.get(socket));
  }

  #evict(pending: Pending): void {
    this.#evicted += 1;
    pending.socket.destroy();
    this.#end(pending);
  }

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
