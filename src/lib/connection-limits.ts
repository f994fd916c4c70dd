/**
 * Bounds on connections by remote address: the key under which an address is counted, what came from it of late, the
 * connections of an HTTP listener, and those of a socket that have not shown yet who they are. Source: sleep-wire.md, Storms.
 */
import type { Socket } from 'node:net';
import type { HttpResponse, TemplatedApp } from './uws.ts';
import type { Cancel, Clock } from './clock.ts';

/**
 * An IPv4 address, however it is written, or the /64 an IPv6 address is in, since whoever holds one of those holds all of
 * it. `address` is an address as Node or a PROXY header gives it: valid, a zone allowed.
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

/** The same address; one of IPv4 that is written as one of IPv6 in the form of IPv4. */
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

/**
 * How often something happened of late, by key, where nobody tells when it is over: each count is forgotten after a
 * while. A ring of slots, one a tick; the oldest goes when the ring turns.
 */
export class RecentCounts {
  readonly #slots: Map<string, number>[];
  readonly #keysMax: number;
  #newest = 0;
  #keys = 0;
  #total = 0;

  /** What is noted counts for `ticks` turns, at most one less. Beyond `keysMax` entries nothing more is noted. */
  constructor(ticks: number, keysMax: number) {
    this.#slots = Array.from({ length: ticks }, () => new Map());
    this.#keysMax = keysMax;
  }

  get total(): number {
    return this.#total;
  }

  countOf(key: string): number {
    return this.#slots.reduce((sum, slot) => sum + (slot.get(key) ?? 0), 0);
  }

  note(key: string): void {
    const slot = this.#slot(0);
    const count = slot.get(key) ?? 0;
    if (count === 0 && this.#keys >= this.#keysMax) return;
    if (count === 0) this.#keys += 1;
    slot.set(key, count + 1);
    this.#total += 1;
  }

  /** One of those noted under the key is over; does nothing when all are forgotten. */
  withdraw(key: string): void {
    for (let age = 0; age < this.#slots.length; age++) {
      const slot = this.#slot(age);
      const count = slot.get(key);
      if (count === undefined) continue;
      this.#total -= 1;
      if (count > 1) slot.set(key, count - 1);
      else if (slot.delete(key)) this.#keys -= 1;
      return;
    }
  }

  /** Once a tick. */
  turn(): void {
    this.#newest = (this.#newest + 1) % this.#slots.length;
    const oldest = this.#slot(0);
    for (const count of oldest.values()) this.#total -= count;
    this.#keys -= oldest.size;
    oldest.clear();
  }

  #slot(age: number): Map<string, number> {
    const { length } = this.#slots;
    const slot = this.#slots[(this.#newest + length - age) % length];
    if (slot === undefined) throw new RangeError(`no slot of age ${age}`);
    return slot;
  }
}

export interface HttpConnectionLimits {
  /** Connections at once. */
  max(): number;
  /** Of one address, without a credential; 0: no such bound, as it must be behind a proxy. */
  readonly perAddressMax: number;
}

/** How often `turn` is called. */
export const httpConnectionsTickMs = 1000;
const unprovenMsMax = 12_000;
/** From this part of the maximum on, addresses count. */
const crowdedPart = 0.5;
/** So much of the maximum an address may have at most, whatever its bound. */
const addressPart = 0.25;

/**
 * The connections of a listener of the front end's library: how many there are, and, once a half of them is taken, how many
 * of an address have come of late and shown no credential. The library tells that a connection has gone, but not whose it
 * was, and cuts one that is silent, or whose request is not whole, after 8 to 12 s: one is counted for as long as that.
 */
export class HttpConnections {
  readonly #limits: HttpConnectionLimits;
  readonly #unproven: RecentCounts;
  #count = 0;
  #refused = 0;
  /** As of the last connection or tick. */
  #max = Infinity;

  /** `addressesMax`: of them no more are counted at once. */
  constructor(limits: HttpConnectionLimits, addressesMax: number) {
    this.#limits = limits;
    this.#unproven = new RecentCounts(unprovenMsMax / httpConnectionsTickMs + 1, addressesMax);
  }

  get count(): number {
    return this.#count;
  }

  /** Those that were closed as soon as they came, since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** Counts the app's connections from now on, and closes those that are too many. */
  watch(app: TemplatedApp): TemplatedApp {
    return app.filter((response, change) => {
      if (change < 0) this.#count -= 1;
      else if (!this.#admits(response)) response.close();
    });
  }

  /** A request has shown a valid credential. Costs nothing while there is room. */
  proven(request: { remoteAddress(): string }): void {
    if (this.#isCrowded) this.#unproven.withdraw(addressKey(request.remoteAddress()));
  }

  /** Once a tick. */
  turn(): void {
    this.#max = this.#limits.max();
    this.#unproven.turn();
  }

  #admits(response: HttpResponse): boolean {
    this.#count += 1;
    this.#max = this.#limits.max();
    const isAdmitted = this.#count <= this.#max && this.#admitsAddress(response);
    if (!isAdmitted) this.#refused += 1;
    return isAdmitted;
  }

  #admitsAddress(response: HttpResponse): boolean {
    const { perAddressMax } = this.#limits;
    if (perAddressMax === 0 || !this.#isCrowded) return true;
    const address = addressKey(remoteAddress(response));
    const max = Math.min(perAddressMax, Math.ceil(this.#max * addressPart));
    if (this.#unproven.countOf(address) >= max) return false;
    this.#unproven.note(address);
    return true;
  }

  get #isCrowded(): boolean {
    return this.#count > this.#max * crowdedPart;
  }
}

/** While the peer is there. */
export function remoteAddress(response: Pick<HttpResponse, 'getRemoteAddressAsText'>): string {
  return Buffer.from(response.getRemoteAddressAsText()).toString('latin1');
}

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
