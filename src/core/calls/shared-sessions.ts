/**
 * The call sessions that this member has written to the shared rows last: where another member keeps a device's calls by now, it
 * has had these from there, and tells how they end. As many as there were here when they were lost to others, at most.
 */
import type { CallSession } from '../../model/call.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';

export class SharedSessions {
  readonly #byDevice = new Map<DeviceId, ReadonlySet<SessionId>>();

  has(deviceId: DeviceId, sessionId: SessionId): boolean {
    return this.#byDevice.get(deviceId)?.has(sessionId) === true;
  }

  /** They are in the row. */
  note(deviceId: DeviceId, sessions: readonly CallSession[]): void {
    if (sessions.length === 0) this.forget(deviceId);
    else this.#byDevice.set(deviceId, new Set(sessions.map(({ sessionId }) => sessionId)));
  }

  /** A write that is not acknowledged may hold: what it leaves out may be gone from the row by this member's own hand. */
  notePut(deviceId: DeviceId, sessions: readonly CallSession[]): void {
    const shared = this.#byDevice.get(deviceId);
    if (shared === undefined) return;
    const put = sessions.map(({ sessionId }) => sessionId);
    this.#byDevice.set(deviceId, new Set(put.filter((sessionId) => shared.has(sessionId))));
  }

  forget(deviceId: DeviceId): void {
    this.#byDevice.delete(deviceId);
  }
}
