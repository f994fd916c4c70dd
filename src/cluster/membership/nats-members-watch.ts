/**
 * Watches the keys of members, and notes their leases. JetStream's own watch takes a minute to notice that its sender is
 * gone; a member that receives nothing more begins the watch anew, and receives everything there is once more.
 */
import type { Cancel } from '../../lib/clock.ts';
import { decodeMemberStatus } from '../../protocol/cluster/stored-values.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { KvChange } from '../nats/kv-store.ts';
import { memberToken } from '../nats/nats-names.ts';
import type { NatsLeases, MembersDeps } from './nats-leases.ts';

/** The marker of a removed key is kept until members that were cut off have seen it. */
const markerKeptMs = 3600 * 1000;

export interface MembersWatchDeps extends MembersDeps {
  readonly leases: NatsLeases;
  /** A lease was written, by its member or by the one that fails it over. */
  readonly onSeen: (member: MemberId, writtenAtMs: number) => void;
  /** A member is called lost, or its lease is removed. */
  readonly onGone: (member: MemberId) => void;
}

export class NatsMembersWatch {
  readonly #deps: MembersWatchDeps;
  #round = 0;
  #stop: Cancel = () => undefined;

  constructor(deps: MembersWatchDeps) {
    this.#deps = deps;
  }

  /** Resolves when no change from now on will be missed. Rejects while NATS is unavailable. */
  async begin(): Promise<void> {
    const { link, kv } = this.#deps;
    this.stop();
    const round = this.#round;
    await link.ready();
    const stop = await kv.watch((change) => {
      if (round === this.#round) this.#saw(change);
    });
    if (round === this.#round) this.#stop = stop;
    else stop();
  }

  stop(): void {
    this.#round++;
    this.#stop();
    this.#stop = () => undefined;
  }

  #saw(change: KvChange): void {
    const { leases, clock, log, onSeen, onGone } = this.#deps;
    const { key, value } = change;
    if (change.isRemoved) {
      const member = Buffer.from(key, 'base64url').toString('utf8') as MemberId;
      leases.gone(member);
      onGone(member);
      this.#forget(change);
      return;
    }
    const decoded = decodeMemberStatus(value);
    if (!decoded.ok || memberToken(decoded.value.member) !== key) {
      const reason = decoded.ok ? 'it is of another member' : decoded.error;
      log.warn({ key, reason }, 'a lease of the cluster is malformed');
      return;
    }
    const { member, state } = decoded.value;
    leases.saw(decoded.value, change, clock.monotonicMs());
    if (state === 'lost') onGone(member);
    onSeen(member, change.writtenAtMs);
  }

  /** Every life of every member leaves a marker; each member erases the old ones that it sees. */
  #forget({ writtenAtMs, revision }: KvChange): void {
    const { clock, kv } = this.#deps;
    if (clock.wallMs() - writtenAtMs >= markerKeptMs) kv.erase(revision).catch(() => undefined);
  }
}
