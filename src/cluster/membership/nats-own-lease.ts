/**
 * This member's own lease. Where its key is not as this member left it, another one has called it lost: this member waits
 * while its failover lasts, then claims its sessions again and comes back under the same id. Source: cluster.md, Node loss.
 */
import { messageOf } from '../../lib/result.ts';
import { decodeMemberStatus, encodeMemberStatus } from '../../protocol/cluster/stored-values.ts';
import type { MemberState, MemberStatus } from '../../model/cluster.ts';
import { leaseLostMs, leaseRenewMs } from '../../model/limits.ts';
import { Lease } from '../nats/lease.ts';
import { memberToken } from '../nats/nats-names.ts';
import type { MembersDeps } from './nats-leases.ts';

interface OwnLeaseDeps extends MembersDeps {
  readonly status: () => MemberStatus;
  readonly reregister: () => void;
}

interface LostLease {
  readonly revision: number | null;
  /** Since when it has been seen unchanged, and when it was last looked at. */
  readonly sinceMs: number;
  readonly lookedAtMs: number;
}

export class NatsOwnLease {
  readonly #deps: OwnLeaseDeps;
  readonly #key: string;
  #lease: Lease;
  #state: MemberState = 'up';
  /** The lease as another member wrote it; null: this member is not lost. */
  #lost: LostLease | null = null;
  #isRenewing = false;
  #isRemoved = false;
  #renewedAtMs = -Infinity;

  constructor(deps: OwnLeaseDeps) {
    this.#deps = deps;
    this.#key = memberToken(deps.self);
    this.#lease = new Lease(deps.kv, this.#key, null);
  }

  status(): MemberStatus {
    return { ...this.#deps.status(), state: this.#lost === null ? this.#state : 'lost' };
  }

  drain(): void {
    this.#state = 'draining';
  }

  isDue(nowMs: number): boolean {
    return this.#lost !== null || nowMs - this.#renewedAtMs >= leaseRenewMs;
  }

  /** One at a time. Never rejects: what fails while NATS is unavailable is for the next renewal. */
  async renew(): Promise<void> {
    const { clock, link, log } = this.#deps;
    if (this.#isRenewing || this.#isRemoved || link.isUnavailable) return;
    this.#isRenewing = true;
    this.#renewedAtMs = clock.monotonicMs();
    try {
      await link.ready();
      if (this.#lost !== null || !(await this.#lease.renew(this.#value()))) await this.#comeBack();
    } catch (error) {
      log.debug({ reason: messageOf(error) }, 'the lease of this member was not renewed');
    }
    this.#isRenewing = false;
  }

  /** Rejects while NATS is unavailable: the lease runs out then. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    await this.#lease.release();
  }

  async #comeBack(): Promise<void> {
    const { kv, log, reregister, self } = this.#deps;
    const entry = await kv.find(this.#key);
    const kept = entry && decodeMemberStatus(entry.value);
    const state = kept !== null && kept.ok ? kept.value.state : null;
    const revision = entry?.revision ?? null;
    const lease = new Lease(kv, this.#key, revision);
    // Any other state: its own last write, whose answer was lost.
    if (state === null || state === 'lost') {
      if (this.#lost === null) log.warn({ member: self }, 'this member was called lost, and comes back');
      const isGivenUp = this.#isGivenUp(revision);
      if (state === 'lost' && !isGivenUp) return;
      reregister();
      if (!(await lease.renew(this.#value()))) return;
    }
    this.#lease = lease;
    this.#lost = null;
  }

  /** The member that fails it over renews the key meanwhile. Only time without a gap between looks counts. */
  #isGivenUp(revision: number | null): boolean {
    const nowMs = this.#deps.clock.monotonicMs();
    const before = this.#lost;
    const isSame = before?.revision === revision && nowMs - before.lookedAtMs <= leaseRenewMs;
    this.#lost = { revision, sinceMs: isSame ? before.sinceMs : nowMs, lookedAtMs: nowMs };
    return nowMs - this.#lost.sinceMs >= leaseLostMs;
  }

  #value(): Uint8Array {
    return encodeMemberStatus({ ...this.#deps.status(), state: this.#state, leaseAgeMs: 0 });
  }
}
