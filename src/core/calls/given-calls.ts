/**
 * Calls that this member has given to another one which asked for them, and which may not have got the answer: until that has
 * claimed them nobody keeps them, so they are looked after and taken back. Source: cluster.md, Media.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { CallSession } from '../../model/call.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId, SessionId } from '../../model/ids.ts';
import { callPlacementMsMax } from '../../model/limits.ts';
import type { Log } from '../ports/log.ts';
import type { CallPlacements } from '../ports/records.ts';
import type { CallDirectory } from './call-directory.ts';

export interface GivenCallsDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  readonly directory: Pick<CallDirectory, 'adopt' | 'find' | 'sessionsOf'>;
  readonly placements: Pick<CallPlacements, 'find'>;
  /** The shared row is this member's, or an earlier life's of it. */
  readonly isOwn: (coordinator: MemberId) => boolean;
  /** The log of all says so. Rejects while the log here is behind, or cannot be read. */
  readonly isEnded: (deviceId: DeviceId, sessionId: SessionId) => Promise<boolean>;
  /** Writes to the shared row that the device has no call. Rejects with SharedStateUnavailable. */
  readonly clear: (deviceId: DeviceId) => Promise<unknown>;
}

/** Who asked has claimed them by then, or has not got them. */
export const callsGivenMsMax = 10_000;
/** Where that could not be told. */
const lookAgainMs = 1000;

interface Given {
  readonly sessions: readonly CallSession[];
  readonly cancel: Cancel;
}

export class GivenCalls {
  readonly #deps: GivenCallsDeps;
  readonly #byDevice = new Map<DeviceId, Given>();

  constructor(deps: GivenCallsDeps) {
    this.#deps = deps;
  }

  has(deviceId: DeviceId): boolean {
    return this.#byDevice.has(deviceId);
  }

  /** Of these sessions those that have not ended here. */
  living(deviceId: DeviceId, sessions: readonly CallSession[]): readonly CallSession[] {
    const given = new Set(this.#byDevice.get(deviceId)?.sessions.map(({ sessionId }) => sessionId));
    return sessions.filter(
      ({ sessionId }) => this.#deps.directory.find(sessionId) !== null || given.has(sessionId),
    );
  }

  add(deviceId: DeviceId, given: readonly CallSession[], waitMs = callsGivenMsMax): void {
    const sessions = [...(this.#byDevice.get(deviceId)?.sessions ?? []), ...given];
    this.forget(deviceId);
    const cancel = this.#deps.clock.after(waitMs, () => void this.look(deviceId));
    this.#byDevice.set(deviceId, { sessions, cancel });
  }

  /** These are here again: how they end is told from here, and not to be looked for behind that. */
  cameBack(deviceId: DeviceId, here: readonly CallSession[]): void {
    const given = this.#byDevice.get(deviceId);
    if (given === undefined) return;
    const back = new Set(here.map(({ sessionId }) => sessionId));
    const sessions = given.sessions.filter(({ sessionId }) => !back.has(sessionId));
    if (sessions.length === 0) this.forget(deviceId);
    else this.#byDevice.set(deviceId, { ...given, sessions });
  }

  /** They are known to be somewhere. */
  forget(deviceId: DeviceId): void {
    this.#byDevice.get(deviceId)?.cancel();
    this.#byDevice.delete(deviceId);
  }

  close(): void {
    for (const { cancel } of this.#byDevice.values()) cancel();
  }

  /** Takes back what nobody has claimed, now; tried on where that cannot be told. Never rejects. */
  async look(deviceId: DeviceId): Promise<void> {
    const { sessions } = this.#byDevice.get(deviceId) ?? {};
    if (sessions === undefined) return;
    this.forget(deviceId);
    try {
      await this.#takeBack(deviceId, sessions);
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'cannot tell whether calls have come to who asked; tried on');
      this.add(deviceId, sessions, lookAgainMs);
    }
  }

  /** Those that nobody has claimed; where another member keeps the device's calls without them, they end here. */
  async #takeBack(deviceId: DeviceId, sessions: readonly CallSession[]): Promise<void> {
    const { placements, directory, isOwn, isEnded, clear } = this.#deps;
    const kept = await placements.find(deviceId, callPlacementMsMax);
    const isHere = kept === null || isOwn(kept.coordinator);
    const claimed = new Set(isHere ? [] : kept.sessions.map(({ sessionId }) => sessionId));
    const ended = await Promise.all(sessions.map(({ sessionId }) => isEnded(deviceId, sessionId)));
    const left = sessions.filter(({ sessionId }, at) => ended[at] === false && !claimed.has(sessionId));
    if (left.length > 0) directory.adopt(deviceId, left);
    else if (isHere && directory.sessionsOf(deviceId).length === 0) await clear(deviceId);
  }
}
