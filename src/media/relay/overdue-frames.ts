/**
 * The frames of sessions that took their worker too long: for a while such a session has no frame decoded, and with the last
 * one allowed its call ends. They are remembered when its legs leave and come again. Source: calls-and-media.md, The media
 * process.
 */
import type { Clock } from '../../lib/clock.ts';
import type { SessionId } from '../../model/ids.ts';
import {
  overdueFramesMax,
  overdueFramesOfApplicationMax,
  overdueRefusalMs,
  overdueSessionsMax,
} from '../../model/media/decoding-limits.ts';

interface Remembered {
  count: number;
  refusedUntilMs: number;
}

export class OverdueFrames {
  readonly #clock: Clock;
  /** The session that was overdue last comes last. */
  readonly #sessions = new Map<SessionId, Remembered>();
  /** Applications, likewise; each since the first of its frames that count. */
  readonly #owners = new Map<string, Remembered & { readonly sinceMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `ownerOf`: the application of the session; empty: unknown, and only the session is refused. */
  of(sessionId: SessionId, ownerOf: () => string = () => ''): SessionOverdue {
    return {
      add: () => {
        this.#addToOwner(ownerOf());
        return this.#add(sessionId);
      },
      isRefused: () => {
        const nowMs = this.#clock.monotonicMs();
        const refused = [this.#sessions.get(sessionId), this.#owners.get(ownerOf())];
        return refused.some((remembered) => (remembered?.refusedUntilMs ?? 0) > nowMs);
      },
    };
  }

  /** Many calls of one application, each with few overdue frames, would keep the worker from others' calls. */
  #addToOwner(owner: string): void {
    if (owner === '') return;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#owners.get(owner);
    const knownUntilMs = Math.max(known?.sinceMs ?? 0, known?.refusedUntilMs ?? 0) + overdueRefusalMs;
    const isRecent = known !== undefined && nowMs < knownUntilMs;
    const { count, sinceMs } = isRecent ? known : { count: 0, sinceMs: nowMs };
    const excess = Math.max(0, count + 2 - overdueFramesOfApplicationMax);
    const refusedUntilMs = excess === 0 ? 0 : nowMs + excess * overdueRefusalMs;
    this.#owners.delete(owner);
    this.#owners.set(owner, { count: count + 1, sinceMs, refusedUntilMs });
    dropOldest(this.#owners);
  }

  #add(sessionId: SessionId): boolean {
    const count = (this.#sessions.get(sessionId)?.count ?? 0) + 1;
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, { count, refusedUntilMs: this.#clock.monotonicMs() + overdueRefusalMs });
    dropOldest(this.#sessions);
    return count >= overdueFramesMax;
  }
}

function dropOldest<Key>(remembered: Map<Key, unknown>): void {
  if (remembered.size <= overdueSessionsMax) return;
  for (const oldest of remembered.keys()) return void remembered.delete(oldest);
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
