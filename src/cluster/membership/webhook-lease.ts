/**
 * Elects the node that delivers the webhooks: it holds this lease, by compare-and-set on one key. It is taken over from a
 * member that is gone, or that let go. A holder that cannot renew it stops before others may call it gone: two nodes never
 * both deliver, as far as their clocks run alike. Source: events.md, Webhooks; cluster.md, Node loss.
 */
import { z } from 'zod';
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import { decodeVersioned, encodeVersioned } from '../../protocol/cluster/wire-values.ts';
import { parseMemberId, type MemberId } from '../../model/cluster.ts';
import { leaseRenewMs } from '../../model/limits.ts';
import { webhookLeaseMs } from '../events/log-limits.ts';
import type { KvStore } from '../nats/kv-store.ts';
import { Lease } from '../nats/lease.ts';

export interface WebhookLeaseDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly kv: KvStore;
  readonly self: MemberId;
  readonly isAlive: (member: MemberId) => boolean;
  /** Called alternately: gained, lost, gained, ... */
  readonly onGained: () => void;
  readonly onLost: () => void;
}

const leaseKey = 'holder';
const leaseValue = z.strictObject({ holder: z.string().nullable() });

export class WebhookLease {
  readonly #deps: WebhookLeaseDeps;
  #holder: MemberId | null = null;
  /** Null: this member does not hold it. */
  #lease: Lease | null = null;
  #renewedMs = 0;
  #asking: Promise<void> | null = null;
  #cancelTicks: Cancel = () => undefined;
  #cancelEnd: Cancel = () => undefined;

  constructor(deps: WebhookLeaseDeps) {
    this.#deps = deps;
  }

  /** The holder as last read; null: nobody. */
  get holder(): MemberId | null {
    return this.#holder;
  }

  /** True: nobody else may deliver now. */
  get isHeld(): boolean {
    return this.#lease !== null && this.#deps.clock.monotonicMs() - this.#renewedMs < webhookLeaseMs;
  }

  /** Call it once the living members are known. */
  start(): void {
    this.#cancelTicks = this.#deps.clock.every(leaseRenewMs, () => this.#tick());
    this.#tick();
  }

  /** Lets go, so that another takes it at once. Write down what was delivered before. */
  async release(): Promise<void> {
    this.#cancelTicks();
    await this.#asking;
    const lease = this.#lease;
    this.#forget();
    try {
      await lease?.renew(encodeVersioned({ holder: null }));
    } catch (error) {
      this.#deps.log.warn(
        { err: error },
        'the lease of the webhooks was not given back; it ends with this member',
      );
    }
  }

  #tick(): void {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
  }

  /** Never rejects: a failure is retried at the next tick, and the lease runs out meanwhile. */
  async #ask(): Promise<void> {
    const { clock, self, log } = this.#deps;
    const startedMs = clock.monotonicMs();
    const held = this.#lease;
    try {
      const lease = held ?? (await this.#vacant());
      if (lease === null) return;
      if (await lease.renew(encodeVersioned({ holder: self }))) this.#hold(lease, startedMs, held);
      else if (held !== null && held === this.#lease) this.#lose('another node delivers the webhooks now');
    } catch (error) {
      log.debug({ err: error }, 'the lease of the webhooks cannot be reached');
    }
  }

  /** The lease as it can be taken now; null: somebody holds it. */
  async #vacant(): Promise<Lease | null> {
    const { kv } = this.#deps;
    const found = await kv.find(leaseKey);
    this.#holder = found === null ? null : holderOf(found.value);
    const isTaken =
      this.#holder !== null && this.#holder !== this.#deps.self && this.#deps.isAlive(this.#holder);
    return isTaken ? null : new Lease(kv, leaseKey, found?.revision ?? null);
  }

  #hold(lease: Lease, startedMs: number, held: Lease | null): void {
    const { clock, self, onGained } = this.#deps;
    // The time ran out while it was renewed.
    if (held !== this.#lease) return;
    this.#lease = lease;
    this.#renewedMs = startedMs;
    this.#holder = self;
    this.#cancelEnd();
    const leftMs = webhookLeaseMs - (clock.monotonicMs() - startedMs);
    this.#cancelEnd = clock.after(leftMs, () => this.#lose('the lease of the webhooks could not be renewed'));
    if (held === null) onGained();
  }

  #lose(reason: string): void {
    this.#forget();
    this.#deps.log.warn({}, `${reason}; this node delivers none`);
    this.#deps.onLost();
  }

  #forget(): void {
    this.#cancelEnd();
    this.#lease = null;
    this.#holder = null;
  }
}

/** A lease that cannot be read is held by nobody. */
function holderOf(bytes: Uint8Array): MemberId | null {
  const decoded = decodeVersioned(bytes, leaseValue);
  return decoded.ok && decoded.value.holder !== null ? parseMemberId(decoded.value.holder) : null;
}
