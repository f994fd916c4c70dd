/**
 * The lost members that this one closes the sessions of. A burial is a lease as well, on the dead member's key: who has
 * it renews it, and where it is not renewed the next survivor takes it. Source: cluster.md, Node loss.
 */
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import { encodeMemberStatus } from '../../protocol/cluster/stored-values.ts';
import type { MemberId } from '../../model/cluster.ts';
import { leaseRenewMs } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import { NatsHeldKey } from '../nats/nats-held-key.ts';
import type { Lease, NatsLeases } from './nats-leases.ts';
import type { NatsLink } from '../nats/nats-link.ts';
import { memberToken } from '../nats/nats-names.ts';

interface BurialsHouse {
  readonly link: NatsLink;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: MemberId;
  readonly bury: (member: MemberId) => Promise<void>;
  readonly leases: NatsLeases;
}

interface Burial {
  readonly held: NatsHeldKey;
  readonly value: Uint8Array;
  renewedAtMs: number;
  isAtWork: boolean;
}

export class NatsBurials {
  readonly #house: BurialsHouse;
  /** null: it is being taken. */
  readonly #burials = new Map<MemberId, Burial | null>();

  constructor(house: BurialsHouse) {
    this.#house = house;
  }

  look(nowMs: number): void {
    const { leases, self } = this.#house;
    for (const lease of leases.overdue(nowMs))
      if (lease.status.member !== self && !this.#burials.has(lease.status.member)) void this.#take(lease);
    for (const [member, burial] of this.#burials) {
      if (burial === null) continue;
      if (nowMs - burial.renewedAtMs >= leaseRenewMs) void this.#renew(member, burial, nowMs);
      if (!burial.isAtWork) void this.#bury(member, burial);
    }
  }

  async #take({ status, revision }: Lease): Promise<void> {
    const { member } = status;
    const { clock, link, log } = this.#house;
    this.#burials.set(member, null);
    const value = encodeMemberStatus({ ...status, state: 'lost' });
    const isTaken = await this.#attempt(async () => {
      const held = new NatsHeldKey(await link.bucket('members'), memberToken(member), revision);
      if (!(await held.write(value))) return false;
      const burial = { held, value, renewedAtMs: clock.monotonicMs(), isAtWork: false };
      this.#burials.set(member, burial);
      log.warn({ member }, 'a member of the cluster is lost, and its sessions are closed by this one');
      void this.#bury(member, burial);
      return true;
    });
    if (!isTaken) this.#burials.delete(member);
  }

  async #bury(member: MemberId, burial: Burial): Promise<void> {
    burial.isAtWork = true;
    const isDone = await this.#attempt(async () => {
      await this.#house.bury(member);
      // False as well: somebody else has it by now, and will find nothing left.
      await burial.held.remove();
      return true;
    });
    burial.isAtWork = false;
    if (isDone) this.#end(member, burial);
  }

  async #renew(member: MemberId, burial: Burial, nowMs: number): Promise<void> {
    burial.renewedAtMs = nowMs;
    const isLeft = await this.#attempt(async () => !(await burial.held.write(burial.value)));
    if (isLeft) this.#end(member, burial);
  }

  #end(member: MemberId, burial: Burial): void {
    if (this.#burials.get(member) === burial) this.#burials.delete(member);
  }

  /** False also when it could not be done: it is tried again. */
  async #attempt(work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      this.#house.log.debug({ reason: messageOf(error) }, 'what a lost member needs could not be done yet');
      return false;
    }
  }
}
