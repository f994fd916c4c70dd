/**
 * Keys by which pages that are open ask how their call goes: each for one session, for a while, and good for nothing
 * else. A page is told of the end of its call, so that a key outlives it. Bounded: the oldest goes.
 */
import { randomBytes } from 'node:crypto';
import type { CallFollower } from './call-directory.ts';
import type { Clock } from '../../lib/clock.ts';
import type { CallChange, CallEndReason, CallSession } from '../../model/call.ts';
import type { SessionId } from '../../model/ids.ts';
import { watchKeyMsMax, watchKeysMax } from '../../model/limits.ts';

export interface WatchedCall {
  readonly key: string;
  readonly sessionId: SessionId;
  /** Null: it lives. */
  readonly endReason: CallEndReason | null;
}

interface KnownKey extends WatchedCall {
  endReason: CallEndReason | null;
  /** Monotonic. */
  readonly deadlineMs: number;
}

const keyBytes = 32;

export class WatchKeys implements CallFollower {
  readonly #clock: Clock;
  readonly #max: number;
  /** In the order of their making, which is that of their ends. */
  readonly #known = new Map<string, KnownKey>();

  constructor(clock: Clock, max = watchKeysMax) {
    this.#clock = clock;
    this.#max = max;
  }

  /** 43 characters of base64url. Of a session that lives. */
  issue(sessionId: SessionId): string {
    this.#sweep();
    const [oldest] = this.#known.keys();
    if (this.#known.size >= this.#max && oldest !== undefined) this.#known.delete(oldest);
    const key = randomBytes(keyBytes).toString('base64url');
    const deadlineMs = this.#clock.monotonicMs() + watchKeyMsMax;
    this.#known.set(key, { key, sessionId, endReason: null, deadlineMs });
    return key;
  }

  /** Null: it never was, or is too old. */
  find(key: string): WatchedCall | null {
    this.#sweep();
    return this.#known.get(key) ?? null;
  }

  issued(): void {}

  changed(_session: CallSession, { sessionId, reason }: CallChange): void {
    if (reason === null) return;
    for (const known of this.#known.values()) if (known.sessionId === sessionId) known.endReason = reason;
  }

  bridgeGone(): void {}

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { deadlineMs }] of this.#known) {
      if (nowMs < deadlineMs) return;
      this.#known.delete(key);
    }
  }
}
