/**
 * The lost members whose sessions this one closes. A failover is a lease as well, on the lost member's key: its holder
 * renews it, and where it is not renewed the next survivor takes it. Source: cluster.md, Node loss.
 */
import { messageOf } from '../../lib/result.ts';
import { encodeMemberStatus } from '../../protocol/cluster/stored-values.ts';
import type { MemberId } from '../../model/cluster.ts';
import { leaseRenewMs } from '../../model/limits.ts';
import { Lease } from '../nats/lease.ts';
import { memberToken } from '../nats/nats-names.ts';
import type { NatsLeases, SeenLease, MembersDeps } from './nats-leases.ts';

interface FailoversDeps extends MembersDeps {
  readonly failOver: (member: MemberId) => Promise<void>;
  readonly leases: NatsLeases;
}

interface Failover {
  readonly lease: Lease;
  readonly value: Uint8Array;
  renewedAtMs: number;
  isAtWork: boolean;
}

export class NatsFailovers {
  readonly #deps: FailoversDeps;
  /** Null: its lease is being taken. */
  readonly #failovers = new Map<MemberId, Failover | null>();

  constructor(deps: FailoversDeps) {
    this.#deps = deps;
  }

  look(nowMs: number): void {
    const { leases, self } = this.#deps;
    for (const lease of leases.overdue(nowMs))
      if (lease.status.member !== self && !this.#failovers.has(lease.status.member)) void this.#take(lease);
    for (const [member, failover] of this.#failovers) {
      if (failover === null) continue;
      if (nowMs - failover.renewedAtMs >= leaseRenewMs) void this.#renew(member, failover, nowMs);
      if (!failover.isAtWork) void this.#failOver(member, failover);
    }
  }

  async #take({ status, revision }: SeenLease): Promise<void> {
    const { member } = status;
    const { clock, kv, log } = this.#deps;
    this.#failovers.set(member, null);
    const value = encodeMemberStatus({ ...status, state: 'lost' });
    const isTaken = await this.#attempt(async () => {
      const lease = new Lease(kv, memberToken(member), revision);
      if (!(await lease.renew(value))) return false;
      const failover = { lease, value, renewedAtMs: clock.monotonicMs(), isAtWork: false };
      this.#failovers.set(member, failover);
      log.warn({ member }, 'a member of the cluster is lost, and its sessions are closed by this one');
      void this.#failOver(member, failover);
      return true;
    });
    if (!isTaken) this.#failovers.delete(member);
  }

  async #failOver(member: MemberId, failover: Failover): Promise<void> {
    failover.isAtWork = true;
    const isDone = await this.#attempt(async () => {
      await this.#deps.failOver(member);
      // Also done when this is false: somebody else holds it by now, and finds nothing left.
      await failover.lease.release();
      return true;
    });
    failover.isAtWork = false;
    if (isDone) this.#end(member, failover);
  }

  async #renew(member: MemberId, failover: Failover, nowMs: number): Promise<void> {
    failover.renewedAtMs = nowMs;
    const isLeft = await this.#attempt(async () => !(await failover.lease.renew(failover.value)));
    if (isLeft) this.#end(member, failover);
  }

  #end(member: MemberId, failover: Failover): void {
    if (this.#failovers.get(member) === failover) this.#failovers.delete(member);
  }

  /** False also when `work` failed: it is tried again. */
  async #attempt(work: () => Promise<boolean>): Promise<boolean> {
    try {
      return await work();
    } catch (error) {
      this.#deps.log.debug({ reason: messageOf(error) }, 'what a lost member needs could not be done yet');
      return false;
    }
  }
}
