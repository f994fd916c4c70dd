/**
 * The living members of the cluster: each renews a lease in a bucket by compare-and-set, and all watch all leases. A
 * lease that is not renewed is taken by one survivor, by compare-and-set on the same key; the survivor closes the
 * sessions, renews the key meanwhile, and then removes it. If it stops halfway, the next one takes over. A member that
 * does not see its own renewals does not see others' either, and calls nobody lost. Source: cluster.md, Node loss.
 */
import { type Cancel, completesWithin } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import type { MemberId, MemberStatus } from '../../model/cluster.ts';
import { leaseRenewMs } from '../../model/limits.ts';
import { NatsFailovers } from './nats-failovers.ts';
import { NatsLeases, type SeenLease, type MembersDeps } from './nats-leases.ts';
import { NatsMembersWatch } from './nats-members-watch.ts';
import { NatsOwnLease } from './nats-own-lease.ts';

export interface NatsMembersDeps extends MembersDeps {
  /** Its `state` and `leaseAgeMs` are set here. */
  readonly status: () => MemberStatus;
  /** Closes all sessions of the member. May be called again, also here when it has rejected. */
  readonly failOver: (member: MemberId) => Promise<void>;
  /** This member was called lost: its live sessions have to be claimed again. Called before its lease is there again. */
  readonly reregister: () => void;
}

const lookMs = 1000;
/** Without its own renewals for so long the watch is dead. Shorter than a lease by more than a renewal. */
const unseenMsMax = 2 * leaseRenewMs;
const startMsMax = 5000;
const stopMsMax = 2000;

export class NatsMembers {
  readonly #deps: NatsMembersDeps;
  readonly #leases = new NatsLeases();
  readonly #watch: NatsMembersWatch;
  readonly #own: NatsOwnLease;
  readonly #failovers: NatsFailovers;
  readonly #followers = new Set<(member: MemberId) => void>();
  #isStopped = false;
  #lookedAtMs: number;
  #echoAtMs: number;
  /** The latest renewal of its own that came back, by this clock and that of NATS; null: none has yet. */
  #renewal: { readonly seenAtMs: number; readonly writtenAtMs: number } | null = null;
  /** Beginnings of the watch that are under way. */
  #beginnings = 0;
  #twins: readonly MemberId[] | null = null;
  #joined: () => void = () => undefined;
  #cancels: Cancel[] = [];

  constructor(deps: NatsMembersDeps) {
    this.#deps = deps;
    this.#lookedAtMs = this.#echoAtMs = deps.clock.monotonicMs();
    this.#watch = new NatsMembersWatch({
      ...deps,
      leases: this.#leases,
      onSeen: (member, writtenAtMs) => this.#isOther(member) || this.#sawOwn(writtenAtMs),
      onGone: (member) => this.#notifyGone(member),
    });
    this.#own = new NatsOwnLease(deps);
    this.#failovers = new NatsFailovers({ ...deps, leases: this.#leases });
  }

  /** Resolves when the lease is there and the others are known; at once while NATS is unavailable, and after 5 s at the latest. */
  async start(): Promise<void> {
    const { clock, link } = this.#deps;
    const joined = new Promise<void>((resolve) => (this.#joined = resolve));
    this.#cancels = [
      clock.every(lookMs, () => this.#look()),
      link.onChange((isUnavailable) => void (isUnavailable || this.#begin())),
    ];
    if (link.isUnavailable) return;
    void this.#begin();
    await completesWithin(clock, startMsMax, joined);
  }

  /** Includes this one. */
  alive(): MemberId[] {
    const nowMs = this.#deps.clock.monotonicMs();
    const others = this.#leases.all().map(({ status }) => status.member);
    return [
      this.#deps.self,
      ...others.filter((other) => this.#isOther(other) && this.#leases.isAlive(other, nowMs)),
    ];
  }

  isAlive(member: MemberId): boolean {
    return !this.#isOther(member) || this.#leases.isAlive(member, this.#deps.clock.monotonicMs());
  }

  isDraining(member: MemberId): boolean {
    return this.#leases.get(member)?.status.state === 'draining';
  }

  /** All known members, this one first, lost ones among them. */
  all(): MemberStatus[] {
    const nowMs = this.#deps.clock.monotonicMs();
    const others = this.#leases.all().filter(({ status }) => this.#isOther(status.member));
    return [
      { ...this.#own.status(), leaseAgeMs: 0 },
      ...others.map((lease) => ({ ...lease.status, leaseAgeMs: this.#ageMs(lease, nowMs) })),
    ];
  }

  /** Age of what this member knows of the others; null: nothing has come yet. */
  get knowledgeAgeMs(): number | null {
    if (this.#renewal === null) return null;
    return Math.round(this.#deps.clock.monotonicMs() - this.#renewal.seenAtMs);
  }

  /** Another process with the same node name, older than this one; null: there is none. */
  get twin(): MemberId | null {
    return this.#twins?.find((member) => this.isAlive(member)) ?? null;
  }

  /** Called when a member's lease is gone, perhaps more than once. */
  onGone(follower: (member: MemberId) => void): Cancel {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** From now on the lease says so. */
  draining(): void {
    this.#own.drain();
    void this.#own.renew();
  }

  /** Gives the lease up in order: the sessions are closed already. Failovers under way are left to others. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const cancel of this.#cancels) cancel();
    this.#watch.stop();
    await completesWithin(this.#deps.clock, stopMsMax, this.#own.remove());
  }

  async #begin(): Promise<void> {
    if (this.#isStopped) return;
    const nowMs = this.#deps.clock.monotonicMs();
    this.#leases.countAnew(nowMs);
    this.#beginnings++;
    try {
      await this.#watch.begin();
      await this.#own.renew();
    } catch (error) {
      this.#deps.log.debug({ reason: messageOf(error) }, 'the leases of the cluster cannot be watched');
    }
    this.#beginnings--;
    this.#echoAtMs = this.#deps.clock.monotonicMs();
  }

  #look(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const wasStopped = nowMs - this.#lookedAtMs > lookMs + leaseRenewMs;
    this.#lookedAtMs = nowMs;
    if (wasStopped || this.#deps.link.isUnavailable) this.#leases.countAnew(nowMs);
    if (this.#deps.link.isUnavailable) return;
    if (this.#beginnings > 0) this.#leases.countAnew(nowMs);
    else if (nowMs - this.#echoAtMs > unseenMsMax) void this.#begin();
    if (this.#own.isDue(nowMs)) void this.#own.renew();
    for (const { status } of this.#leases.overdue(nowMs)) this.#notifyGone(status.member);
    this.#failovers.look(nowMs);
  }

  /** Since it was written, also where this member has seen it late; clocks of machines differ, so that of NATS counts. */
  #ageMs({ writtenAtMs, seenAtMs }: SeenLease, nowMs: number): number {
    const own = this.#renewal;
    if (own === null) return Math.round(nowMs - seenAtMs);
    return Math.max(0, Math.round(nowMs - own.seenAtMs + own.writtenAtMs - writtenAtMs));
  }

  #sawOwn(writtenAtMs: number): void {
    this.#echoAtMs = this.#deps.clock.monotonicMs();
    // A watch that begins again receives an old one once more.
    if (writtenAtMs > (this.#renewal?.writtenAtMs ?? 0))
      this.#renewal = { seenAtMs: this.#echoAtMs, writtenAtMs };
    this.#joined();
    this.#twins ??= this.#findTwins();
  }

  #findTwins(): readonly MemberId[] {
    const { log, self, status } = this.#deps;
    const { node } = status();
    const living = this.#leases
      .all()
      .filter((lease) => this.#isOther(lease.status.member) && this.isAlive(lease.status.member));
    const twins = living.filter((lease) => lease.status.node === node);
    for (const twin of twins)
      log.error(
        { node, self, other: twin.status.member },
        `two processes have the node name ${node}: give each its own cluster.node_name, or wait until the lease of the older one has run out`,
      );
    return twins.map((twin) => twin.status.member);
  }

  #notifyGone(member: MemberId): void {
    for (const follower of this.#followers) follower(member);
  }

  #isOther(member: MemberId): boolean {
    return member !== this.#deps.self;
  }
}
