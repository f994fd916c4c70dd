/**
 * Sleep sessions that the core before this one left open, until edges bring them: a wakeup waits a while for the session of its
 * device. A site without edges has none. Source: scale-out.md, Edges.
 */
import { settlesWithin, type Clock } from '../../lib/clock.ts';
import type { DeviceId } from '../../model/ids.ts';
import { unclaimedWakeupMsMax, unclaimedWakeupsMax } from '../../model/sleep.ts';
import type { Admission, SleepSessions } from '../ports/device-sessions.ts';
import type { DeviceDirectory } from './device-directory.ts';

export interface UnclaimedSessionsDeps {
  readonly clock: Clock;
  readonly directory: Pick<DeviceDirectory, 'find' | 'readRecord'>;
}

interface Claims {
  /** Sessions that nobody has claimed yet. */
  left: number;
  /** Waiting wakeups. */
  waiting: number;
  /** By the device for which wakeups wait. */
  readonly awaited: Map<DeviceId, Claim>;
  readonly ended: () => void;
}

interface Claim {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

export class UnclaimedSessions {
  readonly #deps: UnclaimedSessionsDeps;
  /** Null: edges have brought all sessions that they hold. */
  #claims: Claims | null = null;

  constructor(deps: UnclaimedSessionsDeps) {
    this.#deps = deps;
  }

  /** Once, before edges can connect. `count`: open sessions in the store. `ended`: called at the last claim, or by `end`. */
  begin(count: number, ended: () => void): void {
    this.#claims = { left: count, waiting: 0, awaited: new Map(), ended };
    if (count === 0) this.end();
  }

  /** Sessions that are left are lost. */
  end(): void {
    const claims = this.#claims;
    if (claims === null) return;
    this.#claims = null;
    for (const { resolve } of claims.awaited.values()) resolve();
    claims.ended();
  }

  /**
   * Null: the device has no session that an edge may still bring. True: its session has been claimed, or none is brought any
   * more; false, after 2 s or at once when too many wait: it has not been.
   */
  wait(deviceId: DeviceId): Promise<boolean> | null {
    const claims = this.#claims;
    if (claims === null || !this.#isUnclaimed(deviceId)) return null;
    return claims.waiting < unclaimedWakeupsMax ? this.#wait(claims, deviceId) : Promise.resolve(false);
  }

  /** The sessions of the edges, whose logins claim sessions too. */
  claiming(sessions: SleepSessions<Admission>): SleepSessions<Admission> {
    return {
      admit: (login, ...rest) => this.#claimedBy(login.deviceId, () => sessions.admit(login, ...rest)),
      ended: (...ended) => sessions.ended(...ended),
      goOn: (moved, connection) => {
        const ticket = sessions.goOn(moved, connection);
        // Only an unclaimed session can be resumed: the record need not be read again.
        if (ticket !== null) this.#claimed(moved.deviceId);
        return ticket;
      },
      recover: (lost, ...rest) => this.#claimedBy(lost.deviceId, () => sessions.recover(lost, ...rest)),
    };
  }

  async #wait(claims: Claims, deviceId: DeviceId): Promise<boolean> {
    claims.waiting += 1;
    const claim = claims.awaited.get(deviceId) ?? newClaim();
    claims.awaited.set(deviceId, claim);
    try {
      return await settlesWithin(this.#deps.clock, unclaimedWakeupMsMax, claim.promise);
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

  /** It is open by its record, and no connection here carries it. Throws when the store cannot be read. */
  #isUnclaimed(deviceId: DeviceId): boolean {
    const { directory } = this.#deps;
    if ((directory.find(deviceId)?.session('sleep') ?? null) !== null) return false;
    return directory.readRecord('sleep', deviceId).openSession !== null;
  }
}

function newClaim(): Claim {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((resolved) => (resolve = resolved));
  return { promise, resolve };
}
