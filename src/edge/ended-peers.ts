/**
 * Closes connections of peers that have hung up, a limited number in each turn of the event loop. When a balancer dies, the connections
 * of a whole city end at once; each costs 0.1 ms. In one turn they would block the loop for seconds, and the supervisor would take
 * this process for hung.
 */
import { BoundedQueue } from '../lib/collections/queues.ts';
import { sleepEndsPerTurnMax } from '../model/sleep.ts';

export class EndedPeers<Peer> {
  readonly #end: (peer: Peer) => void;
  /** Bounded by the number of connections, which has its own limit. */
  readonly #waiting = new BoundedQueue<Peer>(Infinity);
  #leftThisTurn = sleepEndsPerTurnMax;
  #isTurnDue = false;

  /** `end`: called once for each peer, in their order. */
  constructor(end: (peer: Peer) => void) {
    this.#end = end;
  }

  /** Ends the peer in this turn while there is room, else in a later one. */
  add(peer: Peer): void {
    if (this.#leftThisTurn > 0) this.#endNow(peer);
    else this.#waiting.push(peer);
    this.#awaitTurn();
  }

  #awaitTurn(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isTurnDue = false;
    this.#leftThisTurn = sleepEndsPerTurnMax;
    const count = Math.min(this.#waiting.length, sleepEndsPerTurnMax);
    for (let ended = 0; ended < count; ended += 1) {
      const peer = this.#waiting.shift();
      if (peer !== undefined) this.#endNow(peer);
    }
    if (count > 0) this.#awaitTurn();
  }

  #endNow(peer: Peer): void {
    this.#leftThisTurn -= 1;
    this.#end(peer);
  }
}
