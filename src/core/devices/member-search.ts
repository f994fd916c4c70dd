/**
 * The search for a device's session at the other members, when the shared row has none. A login is known to its own member
 * before the device is told OK, and to the row some milliseconds later: without a second look a wakeup or a message that
 * comes in between would be answered 40412. The members are asked themselves, from memory, so that no time has to be
 * guessed. Only what would be answered 40412 is searched for; how often and how many at once is bounded, and beyond that
 * the row is believed. Source: cluster.md, Route; docs/cluster.md, Just after a login.
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

/** All members together search for one application no oftener than this. */
const rate = { perSecond: memberSearchesPerSecondMax, burst: memberSearchesBurstMax };

/** For whom, and whose session. */
export interface Sought {
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
   * The first other member that says it has such a session; null: none says so, or as many are sought as may be. Settles
   * within `waitMs`, 500 ms at most, and never rejects.
   */
  async find(
    connection: ConnectionKind,
    { appId, deviceId }: Sought,
    waitMs = memberSearchMsMax,
  ): Promise<MemberId | null> {
    const others = othersAlive(this.#peers);
    if (others.length === 0 || this.#underWay >= memberSearchesMax) return null;
    if (this.#limit.take(appId) > 0) return null;
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

/** As soon as one is there; null: when all have said that there is none. */
function firstFound(asked: readonly Promise<MemberId | null>[]): Promise<MemberId | null> {
  return new Promise((resolve) => {
    for (const one of asked) void one.then((member) => member !== null && resolve(member));
    void Promise.all(asked).then(() => resolve(null));
  });
}
