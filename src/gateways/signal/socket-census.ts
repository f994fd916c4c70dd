/**
 * The sockets of the listener that have no session: those that have not asked for the upgrade yet, those that have
 * not logged in yet, in all and by address, and those that were dismissed and may still hang on. The library cuts a
 * socket without a whole request after 8 to 12 s and a dismissed one after 4 to 8 s, and reports neither by address:
 * these are counted for as long as that may take. Source: signal-wire.md.
 */
import { RecentCounts } from '../../lib/connections/recent-counts.ts';
import type { SignalSettings } from './settings.ts';

export type CensusSettings = Pick<SignalSettings, 'handshakes_max' | 'handshakes_per_address_max'>;

const requestMsMax = 12_000;
const lingerMsMax = 8000;

export class SocketCensus {
  readonly #settings: CensusSettings;
  readonly #arriving: RecentCounts;
  readonly #dismissed: RecentCounts;
  #handshakes = 0;
  #plain = 0;

  /** `turn` is called every `tickMs`. */
  constructor(settings: CensusSettings, tickMs: number) {
    this.#settings = settings;
    this.#arriving = new RecentCounts(requestMsMax / tickMs + 1, settings.handshakes_max);
    this.#dismissed = new RecentCounts(lingerMsMax / tickMs + 1, 1 + lingerMsMax / tickMs);
  }

  /** Sockets without a session. */
  get sockets(): number {
    return this.#plain + this.#handshakes + this.#dismissed.total;
  }

  /** A socket came; `address` is an address key. False: there are too many like it, and it is to be closed. */
  connected(address: string): boolean {
    this.#plain += 1;
    if (this.#plain > this.#settings.handshakes_max) return false;
    if (!this.#countsAddresses) return true;
    if (this.#isFull(this.#arriving.countOf(address))) return false;
    this.#arriving.note(address);
    return true;
  }

  /** Gone, and never upgraded. */
  disconnected(): void {
    this.#plain -= 1;
  }

  /** Its request is whole, whatever it asks. */
  requested(address: string): void {
    this.#arriving.withdraw(address);
  }

  upgraded(): void {
    this.#plain -= 1;
    this.#handshakes += 1;
  }

  /** A handshake is over, one way or the other. */
  concluded(): void {
    this.#handshakes -= 1;
  }

  /** A socket was dismissed. */
  dismissed(): void {
    this.#dismissed.note('');
  }

  turn(): void {
    this.#arriving.turn();
    this.#dismissed.turn();
  }

  get #countsAddresses(): boolean {
    return this.#settings.handshakes_per_address_max > 0;
  }

  #isFull(ofAddress: number): boolean {
    return this.#countsAddresses && ofAddress >= this.#settings.handshakes_per_address_max;
  }
}
