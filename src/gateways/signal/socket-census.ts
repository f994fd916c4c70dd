/**
 * The upgraded sockets of the listener that have no session: those that have not logged in yet, and those that were dismissed
 * and are not closed yet. The library closes a dismissed one within 8 s and reports nothing: these are counted for as long
 * as that may take. Source: signal-wire.md.
 */
import { RecentCounts } from '../../lib/connections/recent-counts.ts';

const lingerMsMax = 8000;

export class SocketCensus {
  readonly #dismissed: RecentCounts;
  #handshakes = 0;

  /** `turn` is called every `tickMs`. */
  constructor(tickMs: number) {
    this.#dismissed = new RecentCounts(lingerMsMax / tickMs + 1, 1 + lingerMsMax / tickMs);
  }

  get sockets(): number {
    return this.#handshakes + this.#dismissed.total;
  }

  upgraded(): void {
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
    this.#dismissed.turn();
  }
}
