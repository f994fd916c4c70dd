/**
 * The leases of members as this one sees them, counted by its own monotonic clock from the last change it saw: wall
 * clocks of machines differ. Who could not see for a while starts to count anew for everybody: that nothing changed
 * means nothing then. Source: cluster.md, Node loss.
 */
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import { leaseLostMs } from '../../model/limits.ts';
import type { KvStore } from '../nats/kv-store.ts';
import type { NatsLink } from '../nats/nats-link.ts';

export type MembersLink = Pick<NatsLink, 'isUnavailable' | 'onChange' | 'ready'>;
/** The bucket of leases. */
export type MembersStore = Pick<KvStore, 'find' | 'compareAndSet' | 'remove' | 'erase' | 'watch'>;

export interface SeenLease {
  readonly status: MemberStatus;
  /** Of the key it is kept in. */
  readonly revision: number;
  readonly seenAtMs: number;
}

/** Members known of at once; what is said of more is passed over. */
const membersMax = 1024;

export class NatsLeases {
  readonly #leases = new Map<MemberId, SeenLease>();

  /** What is kept of a member; an older revision than the one known changes nothing. False: there is no room. */
  saw(status: MemberStatus, revision: number, nowMs: number): boolean {
    const known = this.#leases.get(status.member);
    if (known === undefined && this.#leases.size >= membersMax) return false;
    if (known === undefined || revision > known.revision)
      this.#leases.set(status.member, { status, revision, seenAtMs: nowMs });
    return true;
  }

  /** Its key is no more. */
  gone(member: MemberId): void {
    this.#leases.delete(member);
  }

  countAnew(nowMs: number): void {
    for (const [member, lease] of this.#leases) this.#leases.set(member, { ...lease, seenAtMs: nowMs });
  }

  get(member: MemberId): SeenLease | undefined {
    return this.#leases.get(member);
  }

  all(): SeenLease[] {
    return [...this.#leases.values()];
  }

  isAlive(member: MemberId, nowMs: number): boolean {
    const lease = this.#leases.get(member);
    return lease !== undefined && lease.status.state !== 'lost' && !isOverdue(lease, nowMs);
  }

  /** Nobody has renewed them: neither the member, nor, where it is lost, who buries it. */
  overdue(nowMs: number): SeenLease[] {
    return this.all().filter((lease) => isOverdue(lease, nowMs));
  }
}

export function isOverdue({ seenAtMs }: SeenLease, nowMs: number): boolean {
  return nowMs - seenAtMs >= leaseLostMs;
}
