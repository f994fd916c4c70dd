/**
 * Which node delivers the webhooks: the one that holds this lease, by compare-and-set on one key. It is taken over from a
 * member that is gone, or that let go. A holder that cannot renew it stops before others may call it gone: of two nodes
 * never both deliver, as far as their clocks run alike. Source: events.md, Webhooks; cluster.md, Node loss.
 */
import { z } from 'zod';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { decodeVersioned, encodeVersioned } from '../../protocol/cluster/versioned.ts';
import { parseMemberId, type MemberId } from '../../model/cluster.ts';
import { leaseRenewMs } from '../../model/limits.ts';
import type { Log } from '../../core/ports/log.ts';
import { webhookLeaseMs } from '../events/log-limits.ts';
import type { KvStore } from '../nats/kv-store.ts';

export interface WebhookLeaseDeps {
  readonly kv: KvStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: MemberId;
  readonly isAlive: (member: MemberId) => boolean;
  /** Called in turns: gained, lost, gained, ... */
  readonly onGained: () => void;
  readonly onLost: () => void;
}

const leaseKey = 'holder';
const leaseValue = z.strictObject({ holder: z.string().nullable() });

export class WebhookLease {
  readonly #deps: WebhookLeaseDeps;
  #holder: MemberId | null = null;
  /** Of the value that this member wrote; null: it does not hold it. */
  #revision: number | null = null;
  #renewedMs = 0;
  #asking: Promise<void> | null = null;
  #cancelTicks: Cancel = () => undefined;
  #cancelEnd: Cancel = () => undefined;

  constructor(deps: WebhookLeaseDeps) {
    this.#deps = deps;
  }

  /** Who holds it, as far as was heard; null: nobody. */
  get holder(): MemberId | null {
    return this.#holder;
  }

  /** Nobody else may deliver now. */
  get isHeld(): boolean {
    return this.#revision !== null && this.#deps.clock.monotonicMs() - this.#renewedMs < webhookLeaseMs;
  }

  /** Once the members that live are known. */
  start(): void {
    this.#cancelTicks = this.#deps.clock.every(leaseRenewMs, () => this.#tick());
    this.#tick();
  }

  /** Lets go, so that another takes it at once. What was delivered is to be written before. */
  async release(): Promise<void> {
    this.#cancelTicks();
    await this.#asking;
    const revision = this.#revision;
    this.#forget();
    if (revision === null) return;
    try {
      await this.#deps.kv.compareAndSet(leaseKey, encodeVersioned({ holder: null }), revision);
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

  /** Never rejects: what fails is asked again at the next tick, and held no longer than it may be. */
  async #ask(): Promise<void> {
    const { kv, clock, self, log } = this.#deps;
    const startedMs = clock.monotonicMs();
    const held = this.#revision;
    try {
      const before = held ?? (await this.#vacancy());
      if (before === 'taken') return;
      const revision = await kv.compareAndSet(leaseKey, encodeVersioned({ holder: self }), before);
      if (revision !== null) this.#hold(revision, startedMs, held);
      else if (held !== null) this.#lose('another node delivers the webhooks now');
    } catch (error) {
      log.debug({ err: error }, 'the lease of the webhooks cannot be reached');
    }
  }

  /** The revision of a lease that nobody holds, null: there never was one; `taken`: somebody holds it. */
  async #vacancy(): Promise<number | null | 'taken'> {
    const found = await this.#deps.kv.find(leaseKey);
    this.#holder = found === null ? null : holderOf(found.value);
    const isTaken =
      this.#holder !== null && this.#holder !== this.#deps.self && this.#deps.isAlive(this.#holder);
    return isTaken ? 'taken' : (found?.revision ?? null);
  }

  #hold(revision: number, startedMs: number, held: number | null): void {
    const { clock, self, onGained } = this.#deps;
    // The time ran out while it was renewed.
    if (held !== this.#revision) return;
    this.#revision = revision;
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
    this.#revision = null;
    this.#holder = null;
  }
}

/** What cannot be read is held by nobody. */
function holderOf(bytes: Uint8Array): MemberId | null {
  const decoded = decodeVersioned(bytes, leaseValue);
  return decoded.ok && decoded.value.holder !== null ? parseMemberId(decoded.value.holder) : null;
}
