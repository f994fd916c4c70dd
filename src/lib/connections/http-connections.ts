/** The connections of an HTTP listener of the front end's library: how many there are, and which are refused. */
import type { HttpResponse, TemplatedApp } from '../uws.ts';
import { addressKey, remoteAddress } from './address-key.ts';
import { RecentCounts } from './recent-counts.ts';

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
