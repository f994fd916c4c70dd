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
import type { CallPlacements, KeptCalls } from '../ports/records.ts';
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
  /** Devices without a call whose change by an earlier life waits to be shared: that may have given their calls away. */
  readonly #maybeGiven = new Set<DeviceId>();

  constructor(deps: GivenCallsDeps) {
    this.#deps = deps;
  }

  /** An earlier life of this process has left no call of the device, and has not shared that. */
  resume(deviceId: DeviceId): void {
    this.#maybeGiven.add(deviceId);
  }

  /** Calls in the row are looked after until somebody has claimed them: this life has given them, or an earlier one. */
  areIn(kept: KeptCalls | null, deviceId: DeviceId): boolean {
    const isHere = this.#deps.directory.sessionsOf(deviceId).length > 0;
    const isLeft = kept !== null && kept.sessions.length > 0 && !isHere;
    if (isLeft && this.#maybeGiven.delete(deviceId)) this.add(deviceId, kept.sessions);
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

  /** These are here, and not to be looked for any more: how they end is told from here. */
  adopt(deviceId: DeviceId, here: readonly CallSession[]): void {
    const given = this.#byDevice.get(deviceId);
    const back = new Set(here.map(({ sessionId }) => sessionId));
    const sessions = given?.sessions.filter(({ sessionId }) => !back.has(sessionId)) ?? [];
    if (given === undefined || sessions.length === 0) this.forget(deviceId);
    else this.#byDevice.set(deviceId, { ...given, sessions });
    this.#deps.directory.adopt(deviceId, here);
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
