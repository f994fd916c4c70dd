/** The connections of an HTTP listener of the front end's library: their number, and which of them yield when it is full. */
import { LRUCache } from 'lru-cache';
import type { HttpResponse, TemplatedApp } from '../uws.ts';
import { addressKey, remoteAddress } from './address-key.ts';
import { Crowd } from './crowd.ts';
import { RecentCounts } from './recent-counts.ts';

export interface HttpConnectionLimits {
  /** Connections at once. */
  max(): number;
  /** Unproved connections of one address; 0: no such bound, as it must be behind a proxy. */
  readonly perAddressMax: number;
}

interface Peer {
  remoteAddress(): string;
}

export const httpConnectionsTickMs = 1000;
/** The library closes a connection that is idle, or whose request is not whole, within this. */
const idleMsMax = 12_000;
/** From this part of the maximum on, addresses count. */
const crowdedPart = 0.5;
/** An address may have this part of the maximum at most, whatever its bound. */
const addressPart = 0.25;
/** An address of strangers takes this part of the places that are left, so that one address after the other leaves some. */
const leftPart = 1 / 16;
/** This part of the maximum is reserved for addresses that have proved a credential, once there is one. */
const reservedPart = 0.125;
/** From this part of the maximum on, an application may keep `applicationPart` of it. */
const nearlyFullPart = 0.75;
const applicationPart = 0.25;
/** While there is room, as many proofs a tick are recorded by address, so that a busy listener pays nothing for it. */
const proofsPerTick = 200;

/**
 * Once a half of the places is taken, a connection that has sent no whole request can be closed for a newcomer, and one
 * address has a share of the places that are left. The library reports neither whose connection has closed nor on which one
 * a request has come: an address whose request reached a handler keeps its other connections until the library closes them,
 * and they count as arrivals until then.
 */
export class HttpConnections {
  readonly #limits: HttpConnectionLimits;
  readonly #arrivals: RecentCounts;
  /** Memory safety: none of them has had a request that reached a handler. */
  readonly #silent = new Crowd<HttpResponse>();
  readonly #provedAddresses: LRUCache<string, true>;
  /** Answers that left a connection open, by application. */
  readonly #kept: RecentCounts;
  #evictOther: () => boolean = () => false;
  #proofsLeft = proofsPerTick;
  #count = 0;
  #refused = 0;
  #evicted = 0;
  /** As of the last connection or tick. */
  #max = Infinity;

  /** `addressesMax`: of them no more are counted at once. `turn` is called every `tickMs`. */
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

  /** Number of connections that were closed when they arrived, since the start. */
  get refused(): number {
    return this.#refused;
  }

  /** Number of connections that were closed for a newcomer, since the start. */
  get evicted(): number {
    return this.#evicted;
  }

  get isCrowded(): boolean {
    return this.#count > this.#max * crowdedPart;
  }

  /** `evict` closes a connection that has proved nothing, soon; false: it has none. Called when no silent one is left. */
  onFull(evict: () => boolean): void {
    this.#evictOther = evict;
  }

  /** Counts the app's connections from now on, and closes some when there are too many. Every handler calls `reached`. */
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
   * To be called first by the handler of a request: from then on the kept object of its connection may be freed without
   * notice, and which one that is of its address is unknown. False: the peer has reset the connection, whose address is unknown
   * since then; it was closed, and the handler returns.
   */
  reached(response: HttpResponse): boolean {
    if (this.#silent.size === 0) return true;
    const address = remoteAddress(response);
    if (address === '') response.close();
    else this.#silent.deleteAddress(addressKey(address));
    return address !== '';
  }

  /** A request has shown a valid credential. Costs next to nothing while there is room. */
  proven(request: Peer): void {
    if (!this.isCrowded && this.#proofsLeft === 0) return;
    if (this.#proofsLeft > 0) this.#proofsLeft -= 1;
    const address = addressKey(request.remoteAddress());
    this.#provedAddresses.set(address, true);
    this.#arrivals.withdraw(address);
  }

  /**
   * An answer to the application may leave its connection open. Each connection that it keeps has had such an answer within
   * the time after which an idle one is closed, so that a bound on these answers is one on its connections.
   */
  keeps(application: string): boolean {
    if (!this.isCrowded) return true;
    const isNearlyFull = this.#count > this.#max * nearlyFullPart;
    if (isNearlyFull && this.#kept.countOf(application) >= this.#max * applicationPart) return false;
    this.#kept.note(application);
    return true;
  }

  /** Once a tick. */
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
    if (this.#limits.perAddressMax > 0) this.#arrivals.note(address);
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
