/**
 * The hooks of the registry. A new hook starts at the head of the log; its application can read earlier events through the
 * API. Removing a hook from the registry drops its queue.
 */
import { findNamed, type Webhook } from '../../model/registry.ts';
import type { HookRecord, DeliveryStore } from '../../core/ports/delivery-store.ts';
import { Hook, type HookDeps } from './hook.ts';
import { nothingKept, type KeptBefore } from './hook-queues.ts';

export class HookRoster {
  readonly #deliveries: DeliveryStore;
  readonly #deps: HookDeps;
  readonly #hooks = new Map<string, Hook>();
  /** Records of the delivery store that are not yet matched with the registry. */
  #known: ReadonlyMap<string, HookRecord> = new Map();
  #nextNumber = 1;

  constructor(deliveries: DeliveryStore, deps: HookDeps) {
    this.#deliveries = deliveries;
    this.#deps = deps;
  }

  /** Throws when the store cannot be read. */
  restore(): void {
    this.#known = this.#deliveries.hooks();
    this.#nextNumber = this.#deliveries.freeNumber();
  }

  hooks(): Iterable<Hook> {
    return this.#hooks.values();
  }

  get isEmpty(): boolean {
    return this.#hooks.size === 0;
  }

  has(hook: Hook): boolean {
    return this.#hooks.get(hook.id) === hook;
  }

  find(url: string, appId: string | null): Hook[] {
    const hooks = Array.from(this.#hooks.values());
    const named = findNamed(
      hooks.map(({ webhook }) => webhook),
      url,
      appId,
    );
    return hooks.filter(({ webhook }) => named.includes(webhook));
  }

  /**
   * Adopts the registry's webhooks. Returns the removed hooks, whose stored events are dropped. Throws, with nothing changed,
   * when a store cannot be read.
   */
  reconcile(): readonly Hook[] {
    const wanted = this.#wanted();
    const gone = Array.from(this.#hooks.values()).filter(({ id }) => !wanted.has(id));
    for (const [id, webhook] of wanted) this.#addOrUpdate(id, webhook);
    for (const [id, record] of this.#known)
      if (!wanted.has(id)) this.#deps.writeBuffer.drop({ id, number: record.number, record: () => record });
    this.#known = new Map();
    for (const hook of gone) {
      this.#hooks.delete(hook.id);
      this.#deps.writeBuffer.drop(hook);
    }
    return gone;
  }

  #wanted(): ReadonlyMap<string, Webhook> {
    const { hooksMax } = this.#deps.limits;
    const wanted = new Map<string, Webhook>();
    let refused = 0;
    for (const webhook of this.#deps.registry.webhooks())
      if (wanted.size < hooksMax) wanted.set(`${webhook.appId}\n${webhook.url}`, webhook);
      else refused += 1;
    if (refused > 0)
      this.#deps.log.error({ refused, hooks_max: hooksMax }, 'webhooks: too many; some are not served');
    return wanted;
  }

  #addOrUpdate(id: string, webhook: Webhook): void {
    const hook = this.#hooks.get(id);
    if (hook === undefined) this.#hooks.set(id, this.#restoreHook(id, webhook) ?? this.#newHook(id, webhook));
    else if (!isSame(hook.webhook, webhook)) hook.update(webhook);
  }

  #restoreHook(id: string, webhook: Webhook): Hook | null {
    const record = this.#known.get(id);
    if (record === undefined) return null;
    const { head } = this.#deps.tail;
    // A cursor beyond the head belongs to another, older log.
    const cursor = Math.min(record.cursor, head);
    const hook = new Hook(
      id,
      webhook,
      { ...record, cursor },
      this.#readKept(record.number, cursor),
      this.#deps,
    );
    hook.update(webhook);
    return hook;
  }

  /** Few parked events are after the cursor, because an event is parked only after hours. */
  #readKept(number: number, cursor: number): KeptBefore {
    const parked = this.#deliveries.parked(number, cursor, this.#deps.limits.failedPerHookMax);
    return {
      failed: Array.from(this.#deliveries.failed(number)),
      parkedAhead: parked.map(({ event }) => event.sequence),
    };
  }

  #newHook(id: string, webhook: Webhook): Hook {
    const record: HookRecord = {
      number: this.#nextNumber++,
      cursor: this.#deps.tail.head,
      parked: 0,
      switchedOff: null,
      lastSuccessAtMs: null,
      lastFailure: null,
    };
    const hook = new Hook(id, webhook, record, nothingKept, this.#deps);
    this.#deps.writeBuffer.touch(hook);
    return hook;
  }
}

function isSame(one: Webhook, other: Webhook): boolean {
  return one.secret === other.secret && one.types.join() === other.types.join();
}
