/**
 * Notifies followers and legs of changes of calls, in order. A follower may change a call in turn, or report a leg as disconnected:
 * that change is made at once, and notified after all earlier ones. So a change is complete before anyone is notified, and
 * notifications keep the order of the changes.
 *
 * The queue is empty at the end of each turn of the loop. Within a turn the followers bound it: calls only move forward.
 */
import type { CallChange, CallSession } from '../../model/call.ts';

/** Notified of the calls of this process in the turn of the change, after the write; must not throw. */
export interface CallFollower {
  issued?(session: CallSession): void;
  /** `session`: its current state; its last state if it has ended. */
  changed?(session: CallSession, change: CallChange): void;
  bridgeConnected?(session: CallSession): void;
  /** The session's bridge leg was lost and not replaced; the session lives. */
  bridgeLost?(session: CallSession): void;
}

export class CallFollowers {
  readonly #followers: CallFollower[] = [];
  #waiting: (() => void)[] = [];
  #isNotifying = false;

  add(follower: CallFollower): void {
    this.#followers.push(follower);
  }

  /** Makes a change, then runs the deferred notifications. */
  after<Result>(change: () => Result): Result {
    const result = change();
    if (!this.#isNotifying) this.#notifyAll();
    return result;
  }

  notify(call: (follower: CallFollower) => void): void {
    this.defer(() => this.#followers.forEach(call));
  }

  defer(call: () => void): void {
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
