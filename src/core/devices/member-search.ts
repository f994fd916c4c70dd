/**
 * Searches the other members for a device's session when the shared row has none. A login is known to its member before the device
 * is acknowledged, but to the row only milliseconds later: without this search, a wakeup or message in between would be answered
 * 40412. Members answer from memory, so no delay has to be guessed. Only requests that would be answered 40412 cause a search; the
 * rate and number of searches are bounded, and beyond that the row is trusted. Source: cluster.md, Route; docs/cluster.md, Just
 * after a login.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ConnectionKind, MemberId } from '../../model/cluster.ts';
import type { ApplicationId, DeviceId } from '../../model/ids.ts';
import {
  memberSearchesBurstMax,
  memberSearchesMax,
  memberSearchesPerSecondMax,
  memberSearchMsMax,
} from '../../model/limits.ts';
import { othersAlive, type Peers } from '../ports/peers.ts';
import { askForHeartbeats } from './owner-questions.ts';
import { ApplicationLimit } from './request-limits.ts';

/** Limit per application, shared by all members. */
const rate = { perSecond: memberSearchesPerSecondMax, burst: memberSearchesBurstMax };

export interface SearchTarget {
  readonly appId: ApplicationId;
  readonly deviceId: DeviceId;
}

export class MemberSearch {
  readonly #peers: Peers;
  readonly #limit: ApplicationLimit;
  #underWay = 0;

  constructor(clock: Clock, peers: Peers) {
    this.#peers = peers;
    this.#limit = new ApplicationLimit(clock, rate, () => peers.alive().length);
  }

  /**
   * Returns the first other member that reports such a session; null: none does, or too many searches are in progress. Settles
   * within `waitMs`, 500 ms at most; never rejects.
   */
  async find(
    connection: ConnectionKind,
    { appId, deviceId }: SearchTarget,
    waitMs = memberSearchMsMax,
  ): Promise<MemberId | null> {
    const others = othersAlive(this.#peers);
    if (others.length === 0 || this.#underWay >= memberSearchesMax) return null;
    if (this.#limit.acquire(appId) > 0) return null;
    this.#underWay += 1;
    const limitMs = Math.min(waitMs, memberSearchMsMax);
    const asked = others.map((member) => this.#has(member, connection, deviceId, limitMs));
    const found = await firstFound(asked);
    this.#underWay -= 1;
    return found;
  }

  async #has(
    member: MemberId,
    connection: ConnectionKind,
    deviceId: DeviceId,
    waitMs: number,
  ): Promise<MemberId | null> {
    const [found = null] = await askForHeartbeats(this.#peers, member, [deviceId], waitMs);
    return (found?.[connection] ?? null) === null ? null : member;
  }
}

/** Resolves with the first hit; null once all members have answered without one. */
function firstFound(asked: readonly Promise<MemberId | null>[]): Promise<MemberId | null> {
  return new Promise((resolve) => {
    for (const one of asked) void one.then((member) => member !== null && resolve(member));
    void Promise.all(asked).then(() => resolve(null));
  });
}
