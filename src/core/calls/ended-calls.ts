/**
 * Remembers recently ended calls of this member, so that a repeated end is answered with the reason. Lost at a restart: then only
 * the event log remains, which has sessions but no rooms. Source: calls-and-media.md, Call sessions and call status.
 */
import type { Clock } from '../../lib/clock.ts';
import type { CallChange, CallEnd, CallEndOrder, CallSession } from '../../model/call.ts';
import type { ApplicationId, DeviceId, SessionId } from '../../model/ids.ts';
import { endedCallKnownMs, endedCallsKnownMax } from '../../model/limits.ts';
import type { CallFollower } from './call-followers.ts';

export type NamedCall = Pick<CallEndOrder, 'appId' | 'deviceId' | 'call'>;

export interface EndedCall extends CallEnd {
  readonly appId: ApplicationId;
}

interface KnownEnd extends EndedCall {
  readonly roomKey: string;
  readonly deadlineMs: number;
}

/** At `max` the oldest end is dropped. */
export class EndedCalls implements CallFollower {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #bySession = new Map<SessionId, KnownEnd>();
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

  /** By room: the latest end. By session the call may belong to another application or device: the caller checks. */
  find({ appId, deviceId, call }: NamedCall): EndedCall | null {
    this.#forget(this.#max);
    const known =
      call.kind === 'session'
        ? this.#bySession.get(call.sessionId)
        : this.#byRoom.get(keyOf(appId, deviceId, call.roomId));
    return known ?? null;
  }

  /** Drops expired ends, and the oldest beyond `max`. */
  #forget(max: number): void {
    const nowMs = this.#clock.monotonicMs();
    for (const known of this.#bySession.values()) {
      if (nowMs < known.deadlineMs && this.#bySession.size <= max) return;
      this.#bySession.delete(known.sessionId);
      if (this.#byRoom.get(known.roomKey) === known) this.#byRoom.delete(known.roomKey);
    }
  }
}

/** JSON, since device ids may contain any character. */
function keyOf(appId: ApplicationId, deviceId: DeviceId, roomId: string): string {
  return JSON.stringify([appId, deviceId, roomId]);
}
