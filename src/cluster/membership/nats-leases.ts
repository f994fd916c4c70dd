/**
 * The leases of members as this one sees them, timed by its own monotonic clock from the last change it saw: wall clocks
 * of machines differ. A member that could not watch for a while times all leases anew: that nothing changed means nothing
 * then. Source: cluster.md, Node loss.
 */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import { leaseLostMs } from '../../model/limits.ts';
import type { KvChange, KvStore } from '../nats/kv-store.ts';
import type { NatsLink } from '../nats/nats-link.ts';

export type MembersLink = Pick<NatsLink, 'isUnavailable' | 'onChange' | 'ready'>;
/** The bucket of leases. */
export type MembersStore = Pick<KvStore, 'find' | 'compareAndSet' | 'remove' | 'erase' | 'watch'>;

/** Parts that each side of the membership needs. */
export interface MembersDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly link: MembersLink;
  readonly kv: MembersStore;
  readonly self: MemberId;
}

export interface SeenLease {
  readonly status: MemberStatus;
  /** The revision of its key. */
  readonly revision: number;
  /** By the clock of NATS. */
  readonly writtenAtMs: number;
  /** From when on its silence counts. */
  readonly seenAtMs: number;
}

/** Members known at once; the leases of more are ignored. */
const membersMax = 1024;

export class NatsLeases {
  readonly #leases = new Map<MemberId, SeenLease>();

  /** Notes a lease; an older revision than the one known changes nothing. */
  saw(
    status: MemberStatus,
    { revision, writtenAtMs }: Pick<KvChange, 'revision' | 'writtenAtMs'>,
    nowMs: number,
  ): void {
    const known = this.#leases.get(status.member);
    if (known === undefined ? this.#leases.size < membersMax : revision > known.revision)
      this.#leases.set(status.member, { status, revision, writtenAtMs, seenAtMs: nowMs });
  }

  /** The member's key was removed. */
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

  /** Leases that nobody has renewed: neither the member, nor, where it is lost, the member that fails it over. */
  overdue(nowMs: number): SeenLease[] {
    return this.all().filter((lease) => isOverdue(lease, nowMs));
  }
}

export function isOverdue({ seenAtMs }: SeenLease, nowMs: number): boolean {
  return nowMs - seenAtMs >= leaseLostMs;
}
