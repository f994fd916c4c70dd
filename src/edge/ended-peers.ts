/**
 * Peers that have hung up, so many in each turn of the event loop. A balancer that dies ends the connections of a whole city in the
 * same moment: each costs 0.1 ms with its socket and its session, and taken in one go they would hold up everybody else for seconds,
 * the supervisor's question whether this process is alive among them.
 */
import { BoundedQueue } from '../lib/queues.ts';
import { sleepEndsPerTurnMax } from '../model/sleep.ts';

export class EndedPeers<Peer> {
  readonly #end: (peer: Peer) => void;
  /** As many as there are connections, whose number has its own bound. */
  readonly #waiting = new BoundedQueue<Peer>(Infinity);
  #leftThisTurn = sleepEndsPerTurnMax;
  #isTurnDue = false;

  /** `end`: called once for each peer, in their order. */
  constructor(end: (peer: Peer) => void) {
    this.#end = end;
  }

  /** Ends it now while the turn has room, else in a later one. */
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
