/** Connections of a uWebSockets.js HTTP listener: their number, and which of them are evicted when it is full. */
import { LRUCache } from 'lru-cache';
import type { HttpResponse, TemplatedApp } from '../uws.ts';
import { addressKey, remoteAddress } from './address-key.ts';
import { Crowd } from './crowd.ts';
import { RecentCounts } from './recent-counts.ts';

export interface HttpConnectionLimits {
  max(): number;
  /** Unauthenticated connections of one address; 0: unlimited, as behind a proxy. */
  readonly perAddressMax: number;
}

interface Peer {
  remoteAddress(): string;
}

export const httpConnectionsTickMs = 1000;
/** The library closes a connection that is idle, or whose request is incomplete, within this. */
const idleMsMax = 12_000;
/** Above this share of the maximum, connections are counted by address. */
const crowdedPart = 0.5;
/** One address may have at most this share of the maximum, whatever its own bound. */
const addressPart = 0.25;
/** An unauthenticated address may use this share of the remaining slots, so that a series of addresses leaves some. */
const leftPart = 1 / 16;
/** Share of the maximum reserved for addresses that have authenticated, once there is one. */
const reservedPart = 0.125;
/** Above this share of the maximum, an application may keep at most `applicationPart` of it. */
const nearlyFullPart = 0.75;
const applicationPart = 0.25;
/** Authenticated addresses recorded per tick while the listener is not crowded, so that a busy listener pays nothing. */
const proofsPerTick = 200;

/**
 * Above half of the maximum, a connection that has sent no complete request may be evicted, and each address has a share of the
 * remaining slots.
 *
 * The library reports neither whose connection closed nor which connection a request arrived on. So an address whose request
 * reached a handler keeps its other connections until the library closes them; until then they count as arrivals.
 */
export class HttpConnections {
  readonly #limits: HttpConnectionLimits;
  readonly #arrivals: RecentCounts;
  /** Memory safety: only connections without any request that reached a handler. */
  readonly #silent = new Crowd<HttpResponse>();
  readonly #provedAddresses: LRUCache<string, true>;
  readonly #kept: RecentCounts;
  #evictOther: () => boolean = () => false;
  #proofsLeft = proofsPerTick;
  #count = 0;
  #refused = 0;
  #evicted = 0;
  /** Updated by each connection and tick. */
  #max = Infinity;

  /** `addressesMax`: addresses counted at once. Call `turn` every `tickMs`. */
  constructor(limits: HttpConnectionLimits, addressesMax: number, tickMs = httpConnectionsTickMs) {
    const ticks = idleMsMax / tickMs + 1;
    this.#limits = limits;
    this.#arrivals = new RecentCounts(ticks, addressesMax);
    this.#kept = new RecentCounts(ticks, addressesMax);
    this.#provedAddresses = new LRUCache({ max: addressesMax });
  }

  get count(): number {
    return this.#count;
  }

  get refused(): number {
    return this.#refused;
  }

  get evicted(): number {
    return this.#evicted;
  }

  get isCrowded(): boolean {
    return this.#count > this.#max * crowdedPart;
  }

  /** `evict` soon closes an unauthenticated connection; false: it has none. Called when no silent one is left. */
  onFull(evict: () => boolean): void {
    this.#evictOther = evict;
  }

  /** Counts the app's connections, and closes some when there are too many. Every handler has to call `reached`. */
  watch(app: TemplatedApp): TemplatedApp {
    return app.filter((response, change) => {
      if (change < 0) this.#count -= 1;
      else if (!this.#admits(response)) {
        this.#refused += 1;
        response.close();
      }
    });
  }

  /**
   * Call it first in every request handler: from then on the library may free the connection's object without notice, and the
   * address does not identify it. False: the peer has reset the connection; it is closed, and the handler returns.
   */
  reached(response: HttpResponse): boolean {
    if (this.#silent.size === 0) return true;
    const address = remoteAddress(response);
    if (address === '') response.close();
    else this.#silent.deleteAddress(addressKey(address));
    return address !== '';
  }

  /** Records that a request was authenticated. Nearly free while the listener is not crowded. */
  proven(request: Peer): void {
    if (!this.isCrowded && this.#proofsLeft === 0) return;
    if (this.#proofsLeft > 0) this.#proofsLeft -= 1;
    const address = addressKey(request.remoteAddress());
    this.#provedAddresses.set(address, true);
    this.#arrivals.withdraw(address);
  }

  /**
   * True: the answer may leave its connection open. Each kept connection had such an answer within the idle timeout, so a bound
   * on these answers bounds the connections.
   */
  mayKeepOpen(application: string): boolean {
    if (!this.isCrowded) return true;
    const isNearlyFull = this.#count > this.#max * nearlyFullPart;
    if (isNearlyFull && this.#kept.countOf(application) >= this.#max * applicationPart) return false;
    this.#kept.add(application);
    return true;
  }

  /** Call it once a tick. */
  turn(): void {
    this.#max = this.#limits.max();
    this.#proofsLeft = proofsPerTick;
    this.#arrivals.turn();
    this.#kept.turn();
  }

  #admits(response: HttpResponse): boolean {
    this.#count += 1;
    this.#max = this.#limits.max();
    if (!this.isCrowded) return true;
    const address = addressKey(remoteAddress(response));
    if (!this.#hasShare(address) && !this.#close(this.#silent.shift(address))) return false;
    const isFull = this.#count > this.#placesFor(address);
    if (isFull && !this.#close(this.#silent.evict()) && !this.#evictOther()) return false;
    if (this.#limits.perAddressMax > 0) this.#arrivals.add(address);
    this.#silent.add(address, response);
    response.onAborted(() => {
      this.#silent.delete(address, response);
      this.#arrivals.withdraw(address);
    });
    return true;
  }

  #hasShare(address: string): boolean {
    const { perAddressMax } = this.#limits;
    if (perAddressMax === 0) return true;
    const arrived = this.#arrivals.countOf(address);
    if (arrived >= perAddressMax) return false;
    if (arrived === 0) return true;
    if (arrived >= Math.ceil(this.#max * addressPart)) return false;
    const left = this.#placesFor(address) - this.#count;
    return this.#provedAddresses.has(address) || arrived < Math.floor(left * leftPart);
  }

  #placesFor(address: string): number {
    const isStranger = this.#provedAddresses.size > 0 && !this.#provedAddresses.has(address);
    return isStranger ? this.#max - Math.floor(this.#max * reservedPart) : this.#max;
  }

  #close(response: HttpResponse | null): boolean {
    if (response === null) return false;
    this.#evicted += 1;
    response.close();
    return true;
  }
}
