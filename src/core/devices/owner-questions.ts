/**
 * Questions to the members that have the sessions of the devices of one query, one to each member. Source: cluster.md, Record
 * and the failure table.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { DeviceId } from '../../model/ids.ts';
import { ownerQueryMsMax, ownersGatherMsMax } from '../../model/limits.ts';
import type { DeviceHeartbeats } from '../../model/peer.ts';
import type { Peers } from '../ports/peers.ts';

export interface OwnerAnswer {
  readonly member: MemberId;
  /** Null: it could not be asked, or did not answer. */
  readonly heartbeats: DeviceHeartbeats | null;
}

/** Of sessions that the member has, a place for each device. Empty: no answer within `waitMs`. Never rejects. */
export async function askForHeartbeats(
  peers: Peers,
  member: MemberId,
  deviceIds: readonly DeviceId[],
  waitMs = ownerQueryMsMax,
): Promise<readonly DeviceHeartbeats[]> {
  const answer = await peers.ask<'heartbeats'>(member, { kind: 'heartbeats', deviceIds }, waitMs);
  return answer.ok ? answer.value : [];
}

/** A device that waits for its members. */
interface Asking {
  readonly deviceId: DeviceId;
  readonly answers: OwnerAnswer[];
  /** Members that have not answered. */
  left: number;
  readonly resolve: (answers: readonly OwnerAnswer[]) => void;
}

/**
 * Each member is asked once for all of its devices, as soon as no device of the query can add another, or `ownersGatherMsMax`
 * after the first where rows are late.
 */
export class OwnerQuestions {
  readonly #peers: Peers;
  readonly #clock: Clock;
  readonly #gathered = new Map<MemberId, Asking[]>();
  /** Devices that may still ask: neither answered nor waiting for members. */
  #undecided: number;
  #giveUp: Cancel | null = null;

  /** `devices`: of the query. */
  constructor(peers: Peers, clock: Clock, devices: number) {
    this.#peers = peers;
    this.#clock = clock;
    this.#undecided = devices;
  }

  /** Never rejects; a member is waited for no longer than `ownerQueryMsMax`. */
  ask(members: ReadonlySet<MemberId>, deviceId: DeviceId): Promise<readonly OwnerAnswer[]> {
    if (members.size === 0) return Promise.resolve([]);
    return new Promise((resolve) => {
      const asking: Asking = { deviceId, answers: [], left: members.size, resolve };
      for (const member of members) this.#gather(member, asking);
      this.#giveUp ??= this.#clock.after(ownersGatherMsMax, () => this.#send());
      this.decided();
    });
  }

  /** A device of the query asks no more, or not now. */
  decided(): void {
    this.#undecided -= 1;
    if (this.#undecided === 0) this.#send();
  }

  /** The caller no longer waits for the answers. */
  cancel(): void {
    this.#giveUp?.();
    this.#giveUp = null;
    this.#gathered.clear();
  }

  #gather(member: MemberId, asking: Asking): void {
    const others = this.#gathered.get(member);
    if (others === undefined) this.#gathered.set(member, [asking]);
    else others.push(asking);
  }

  #send(): void {
    const questions = [...this.#gathered];
    this.cancel();
    for (const [member, askings] of questions) void this.#askFor(member, askings);
  }

  async #askFor(member: MemberId, askings: readonly Asking[]): Promise<void> {
    const deviceIds = askings.map(({ deviceId }) => deviceId);
    const answers = await askForHeartbeats(this.#peers, member, deviceIds);
    for (const [place, asking] of askings.entries()) {
      asking.answers.push({ member, heartbeats: answers[place] ?? null });
      asking.left -= 1;
      if (asking.left > 0) continue;
      this.#undecided += 1;
      asking.resolve(asking.answers);
    }
  }
}
