/**
 * Notifies legs and followers of calls after the changes, and in their order. A follower may change something in turn, or
 * say that a leg is gone: that is done at once, and notified when all before it has been. So a change is complete
 * before anybody learns of it, and nobody learns of two in the wrong order.
 *
 * Nothing waits here from one turn of the loop to the next. What waits within one is bounded by the followers: calls
 * only go forwards.
 */
import type { CallChange, CallSession } from '../../model/call.ts';

/** Follows the calls of this process. Called in the turn of the change, after it is written; must not throw. */
export interface CallFollower {
  /** A new session was made. */
  issued?(session: CallSession): void;
  /** `session`: as it is now; of one that has ended: as it was last. */
  changed?(session: CallSession, change: CallChange): void;
  /** Its first bridge leg has connected. */
  bridgeCame?(session: CallSession): void;
  /** Its bridge leg was lost, and no other took its place; the session lives. */
  bridgeGone?(session: CallSession): void;
}

export class CallFollowers {
  readonly #followers: CallFollower[] = [];
  #waiting: (() => void)[] = [];
  #isNotifying = false;

  /** For the life of the process. */
  add(follower: CallFollower): void {
    this.#followers.push(follower);
  }

  /** Makes a change, then makes the calls that were put off meanwhile. */
  after<Result>(change: () => Result): Result {
    const result = change();
    if (!this.#isNotifying) this.#notifyAll();
    return result;
  }

  /** Calls every follower once the change is complete. */
  notify(call: (follower: CallFollower) => void): void {
    this.putOff(() => this.#followers.forEach(call));
  }

  /** Makes this call once the change is complete. */
  putOff(call: () => void): void {
    this.#waiting.push(call);
  }

  #notifyAll(): void {
    this.#isNotifying = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) next();
    } finally {
      this.#isNotifying = false;
    }
  }
}
