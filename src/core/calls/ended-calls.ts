/**
 * The calls that ended at this member a short while ago, so that who asks for the end of one is told how it ended. A
 * restart forgets them: what is left then is the log of events, which knows sessions and no rooms. Source:
 * calls-and-media.md, Call sessions and call status.
 */
import type { Clock } from '../../lib/clock.ts';
import type { CallChange, CallEnd, CallName, CallSession } from '../../model/call.ts';
import type { ApplicationId, DeviceId, SessionId } from '../../model/ids.ts';
import { endedCallKnownMs, endedCallsKnownMax } from '../../model/limits.ts';
import type { CallFollower } from './call-followers.ts';

/** Whose call it is, and which one. */
export interface NamedCall {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
  readonly call: CallName;
}

export interface EndedCall extends CallEnd {
  readonly appId: ApplicationId;
}

interface KnownEnd extends EndedCall {
  readonly roomKey: string;
  /** Monotonic. */
  readonly deadlineMs: number;
}

/** When `max` are known, the one that ended first is forgotten. */
export class EndedCalls implements CallFollower {
  readonly #clock: Clock;
  readonly #max: number;
  /** In the order of their ends. */
  readonly #bySession = new Map<SessionId, KnownEnd>();
  /** The last one of each room. */
  readonly #byRoom = new Map<string, KnownEnd>();

  constructor(clock: Clock, max = endedCallsKnownMax) {
    this.#clock = clock;
    this.#max = max;
  }

  get size(): number {
    return this.#bySession.size;
  }

  changed({ appId, deviceId, room }: CallSession, { sessionId, reason, atMs }: CallChange): void {
    if (reason === null) return;
    this.#forget(this.#max - 1);
    const roomKey = keyOf(appId, deviceId, room.roomId);
    const deadlineMs = this.#clock.monotonicMs() + endedCallKnownMs;
    const known = { appId, deviceId, sessionId, reason, endedAtMs: atMs, roomKey, deadlineMs };
    this.#bySession.set(sessionId, known);
    this.#byRoom.set(roomKey, known);
  }

  /** Of a room the call that ended last. By its session also another application's, or another device's: the caller looks. */
  find({ appId, deviceId, call }: NamedCall): EndedCall | null {
    this.#forget(this.#max);
    const known =
      call.kind === 'session'
        ? this.#bySession.get(call.sessionId)
        : this.#byRoom.get(keyOf(appId, deviceId, call.roomId));
    return known ?? null;
  }

  /** Those whose time is over, and the first of those that are more than `max`. */
  #forget(max: number): void {
    const nowMs = this.#clock.monotonicMs();
    for (const known of this.#bySession.values()) {
      if (nowMs < known.deadlineMs && this.#bySession.size <= max) return;
      this.#bySession.delete(known.sessionId);
      if (this.#byRoom.get(known.roomKey) === known) this.#byRoom.delete(known.roomKey);
    }
  }
}

/** Device ids may hold any character. */
function keyOf(appId: ApplicationId, deviceId: DeviceId, roomId: string): string {
  return JSON.stringify([appId, deviceId, roomId]);
}
