/** The live calls of this process, found by their id and by their device, and counted by state. */
import type { CallSession, LiveCallState } from '../../model/call.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import type { LiveCall } from './live-call.ts';

const none: readonly LiveCall[] = [];

export class LiveCalls {
  readonly #byId = new Map<SessionId, LiveCall>();
  /** In the order of their making. Lists are replaced, never changed: most devices have one call, and no spare room. */
  readonly #byDevice = new Map<DeviceId, readonly LiveCall[]>();
  readonly #counts = { issued: 0, establishing: 0, ringing: 0, attempting: 0, connected: 0 };

  get size(): number {
    return this.#byId.size;
  }

  countByState(): Record<LiveCallState, number> {
    return { ...this.#counts };
  }

  find(sessionId: SessionId): LiveCall | null {
    return this.#byId.get(sessionId) ?? null;
  }

  /** A list that stays as it is, whatever comes and goes. */
  ofDevice(deviceId: DeviceId): readonly LiveCall[] {
    return this.#byDevice.get(deviceId) ?? none;
  }

  all(): IterableIterator<LiveCall> {
    return this.#byId.values();
  }

  add(call: LiveCall): void {
    const { sessionId, deviceId, state } = call.session;
    this.#byId.set(sessionId, call);
    this.#byDevice.set(deviceId, this.ofDevice(deviceId).concat(call));
    this.#counts[state] += 1;
  }

  update(call: LiveCall, session: CallSession): void {
    this.#counts[call.session.state] -= 1;
    this.#counts[session.state] += 1;
    call.session = session;
  }

  remove(call: LiveCall): void {
    const { sessionId, deviceId, state } = call.session;
    this.#byId.delete(sessionId);
    const others = this.ofDevice(deviceId).filter((other) => other !== call);
    if (others.length === 0) this.#byDevice.delete(deviceId);
    else this.#byDevice.set(deviceId, others);
    this.#counts[state] -= 1;
  }
}
