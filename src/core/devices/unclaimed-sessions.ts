/**
 * Sleep sessions that the previous core left open, until edges hand them over: meanwhile wakeups wait for the session of their
 * device. A site without edges has none. Source: scale-out.md, Edges.
 */
import { completesWithin, type Clock } from '../../lib/clock.ts';
import { deferred, type Deferred } from '../../lib/deferred.ts';
import type { DeviceId } from '../../model/ids.ts';
import { unclaimedWakeupMsMax, unclaimedWakeupsMax } from '../../model/sleep.ts';
import type { Admission, SleepSessions } from '../ports/device-sessions.ts';
import type { DeviceDirectory } from './device-directory.ts';

export interface UnclaimedSessionsDeps {
  readonly clock: Clock;
  readonly directory: Pick<DeviceDirectory, 'find' | 'readRecord'>;
}

interface Claims {
  left: number;
  waiting: number;
  readonly awaited: Map<DeviceId, Deferred<void>>;
  readonly ended: () => void;
}

export class UnclaimedSessions {
  readonly #deps: UnclaimedSessionsDeps;
  /** Null: the edges have handed over all their sessions. */
  #claims: Claims | null = null;

  constructor(deps: UnclaimedSessionsDeps) {
    this.#deps = deps;
  }

  /** Called once, before edges can connect. `count`: open sessions in the store. `ended`: called at the last claim, or by `end`. */
  begin(count: number, ended: () => void): void {
    this.#claims = { left: count, waiting: 0, awaited: new Map(), ended };
    if (count === 0) this.end();
  }

  /** Ends the waiting; the remaining sessions are lost. */
  end(): void {
    const claims = this.#claims;
    if (claims === null) return;
    this.#claims = null;
    for (const { resolve } of claims.awaited.values()) resolve();
    claims.ended();
  }

  /**
   * Null: no edge can hand over a session of the device. True: the session is claimed, or none will be handed over; false: still
   * unclaimed after 2 s, or too many wakeups wait.
   */
  wait(deviceId: DeviceId): Promise<boolean> | null {
    const claims = this.#claims;
    if (claims === null || !this.#isUnclaimed(deviceId)) return null;
    return claims.waiting < unclaimedWakeupsMax ? this.#wait(claims, deviceId) : Promise.resolve(false);
  }

  /** Wraps the sessions of the edges, whose logins and adoptions claim sessions. */
  claiming(sessions: SleepSessions<Admission>): SleepSessions<Admission> {
    return {
      admit: (login, ...rest) => this.#claimedBy(login.deviceId, () => sessions.admit(login, ...rest)),
      ended: (...ended) => sessions.ended(...ended),
      adopt: (moved, connection) => {
        const ticket = sessions.adopt(moved, connection);
        // Only an unclaimed session can be adopted, so the record need not be read again.
        if (ticket !== null) this.#claimed(moved.deviceId);
        return ticket;
      },
      recover: (lost, ...rest) => this.#claimedBy(lost.deviceId, () => sessions.recover(lost, ...rest)),
    };
  }

  async #wait(claims: Claims, deviceId: DeviceId): Promise<boolean> {
    claims.waiting += 1;
    const claim = claims.awaited.get(deviceId) ?? deferred();
    claims.awaited.set(deviceId, claim);
    try {
      return await completesWithin(this.#deps.clock, unclaimedWakeupMsMax, claim.promise);
    } finally {
      claims.waiting -= 1;
    }
  }

  #claimedBy<Answer>(deviceId: DeviceId, act: () => Answer): Answer {
    const wasUnclaimed = this.#claims !== null && this.#isUnclaimed(deviceId);
    const answer = act();
    if (wasUnclaimed && !this.#isUnclaimed(deviceId)) this.#claimed(deviceId);
    return answer;
  }

  #claimed(deviceId: DeviceId): void {
    const claims = this.#claims;
    if (claims === null) return;
    claims.left -= 1;
    claims.awaited.get(deviceId)?.resolve();
    claims.awaited.delete(deviceId);
    if (claims.left === 0) this.end();
  }

  /** True: open according to its record, without a connection here. Throws when the store cannot be read. */
  #isUnclaimed(deviceId: DeviceId): boolean {
    const { directory } = this.#deps;
    if ((directory.find(deviceId)?.session('sleep') ?? null) !== null) return false;
    return directory.readRecord('sleep', deviceId).openSession !== null;
  }
}
