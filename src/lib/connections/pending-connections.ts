/** Connections of Node's own servers that have not shown yet who they are. */
import type { Socket } from 'node:net';
import type { Cancel, Clock } from '../clock.ts';
import { addressKey } from './address-key.ts';

export interface PendingLimits {
  readonly waitMs: number;
  /** Of one address (IPv6: one /64); 0: no such bound, as it must be behind a proxy. */
  readonly perAddressMax: number;
}

/** With TLS a connection is two objects: the socket that came, and the one that is read. Both have its address. */
type Ends = Pick<Socket, 'remoteAddress' | 'remotePort'>;

interface Pending {
  readonly address: string;
  readonly cancel: Cancel;
}

/**
 * Connections that have not shown yet who they are: each has so long in all, however it sends what it sends, and one
 * address has so many. Node's own deadlines are one a step, TLS and then the request, and some begin anew with every byte.
 */
export class PendingConnections {
  readonly #clock: Clock;
  readonly #limits: PendingLimits;
  readonly #pending = new Map<string, Pending>();
  readonly #counts = new Map<string, number>();

  constructor(clock: Clock, limits: PendingLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Destroys it now if it is one too many of its address, else when its time is up. To be called when it has just come. */
  begin(socket: Socket): void {
    const { waitMs, perAddressMax } = this.#limits;
    const address = addressKey(socket.remoteAddress ?? '');
    const count = this.#counts.get(address) ?? 0;
    if (perAddressMax > 0 && count >= perAddressMax) {
      socket.destroy();
      return;
    }
    const origin = originOf(socket);
    const pending: Pending = { address, cancel: this.#clock.after(waitMs, () => socket.destroy()) };
    this.#end(origin, this.#pending.get(origin));
    this.#pending.set(origin, pending);
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
    socket.once('close', () => this.#end(origin, pending));
  }

  /** It has shown what it had to. */
  met(socket: Ends): void {
    const origin = originOf(socket);
    this.#end(origin, this.#pending.get(origin));
  }

  /** Does nothing for one that has ended before. */
  #end(origin: string, pending: Pending | undefined): void {
    if (pending === undefined || this.#pending.get(origin) !== pending) return;
    pending.cancel();
    this.#pending.delete(origin);
    const left = (this.#counts.get(pending.address) ?? 0) - 1;
    if (left > 0) this.#counts.set(pending.address, left);
    else this.#counts.delete(pending.address);
  }
}

function originOf({ remoteAddress, remotePort }: Ends): string {
  return `${remoteAddress} ${remotePort}`;
}
