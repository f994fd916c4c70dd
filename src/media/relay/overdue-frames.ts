/**
 * The frames of sessions that took their worker too long: for a while such a session has no frame decoded, and with the last
 * one allowed its call ends. They are remembered when its legs leave and come again. Source: calls-and-media.md, The media
 * process.
 */
import type { Clock } from '../../lib/clock.ts';
import type { SessionId } from '../../model/ids.ts';
import { overdueFramesMax, overdueRefusalMs, overdueSessionsMax } from '../../model/media/decoding-limits.ts';

interface Remembered {
  count: number;
  refusedUntilMs: number;
}

export class OverdueFrames {
  readonly #clock: Clock;
  /** The session that was overdue last comes last. */
  readonly #sessions = new Map<SessionId, Remembered>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(sessionId: SessionId): SessionOverdue {
    return {
      add: () => this.#add(sessionId),
      isRefused: () => (this.#sessions.get(sessionId)?.refusedUntilMs ?? 0) > this.#clock.monotonicMs(),
    };
  }

  #add(sessionId: SessionId): boolean {
    const count = (this.#sessions.get(sessionId)?.count ?? 0) + 1;
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, { count, refusedUntilMs: this.#clock.monotonicMs() + overdueRefusalMs });
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > overdueSessionsMax && oldest !== undefined) this.#sessions.delete(oldest);
    return count >= overdueFramesMax;
  }
}

/** Reports of a direction about its frames. */
export interface OverdueReports extends Pick<SessionOverdue, 'isRefused'> {
  add(): void;
}

/** The same of one session. */
export interface SessionOverdue {
  /** One more. True: its call is to end. */
  add(): boolean;
  /** Nothing of it is decoded for now. */
  isRefused(): boolean;
}
