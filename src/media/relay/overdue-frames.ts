/**
 * Frames that exceeded their worker's time: after one the session has no frame decoded for a while, and the last one allowed ends its
 * call. Remembered even if legs leave and reconnect. Source: calls-and-media.md, The media process.
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
  /** Most recent last. */
  readonly #sessions = new Map<SessionId, Remembered>();
  /** By application, most recent last; each since the first of its frames that count. */
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

  /** Limits an application: many calls, each with few overdue frames, would block the worker for others. */
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

/** A direction's reports about its frames. */
export interface OverdueReports extends Pick<SessionOverdue, 'isRefused'> {
  add(): void;
}

/** The same for one session. */
export interface SessionOverdue {
  add(): boolean;
  isRefused(): boolean;
}
