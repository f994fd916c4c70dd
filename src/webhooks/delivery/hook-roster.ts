/**
 * The hooks there are, by the registry. A hook that is new begins at the head of the log: its application has asked to
 * be told from now on, and what happened before can be read. One that is no longer in the registry goes with its queue.
 */
import type { Webhook } from '../../model/registry.ts';
import type { HookRecord, WebhookBook } from '../../core/ports/webhook-book.ts';
import { Hook } from './hook.ts';
import type { HookHouse } from './hook-house.ts';
import { nothingKept, type KeptBefore } from './restore-failed.ts';

export class HookRoster {
  readonly #book: WebhookBook;
  readonly #house: HookHouse;
  readonly #hooks = new Map<string, Hook>();
  /** In the book and not yet looked for in the registry. */
  #known: ReadonlyMap<string, HookRecord> = new Map();
  #nextNumber = 1;

  constructor(book: WebhookBook, house: HookHouse) {
    this.#book = book;
    this.#house = house;
  }

  /** Throws when the store cannot be read. */
  restore(): void {
    this.#known = this.#book.hooks();
    this.#nextNumber = this.#book.freeNumber();
  }

  hooks(): Iterable<Hook> {
    return this.#hooks.values();
  }

  has(hook: Hook): boolean {
    return this.#hooks.get(hook.id) === hook;
  }

  /** Those of this url, of one application or of all. */
  find(url: string, appId: string | null): Hook[] {
    return Array.from(this.#hooks.values()).filter(
      ({ webhook }) => webhook.url === url && (appId === null || webhook.appId === appId),
    );
  }

  /**
   * Follows the registry. Returns the hooks that are gone; whatever the book has of them goes too. Throws, with nothing
   * changed, when a store cannot be read.
   */
  reconcile(): readonly Hook[] {
    const wanted = this.#wanted();
    const gone = Array.from(this.#hooks.values()).filter(({ id }) => !wanted.has(id));
    for (const [id, webhook] of wanted) this.#take(id, webhook);
    for (const [id, record] of this.#known)
      if (!wanted.has(id)) this.#house.ledger.drop({ id, number: record.number, record: () => record });
    this.#known = new Map();
    for (const hook of gone) {
      this.#hooks.delete(hook.id);
      this.#house.ledger.drop(hook);
    }
    return gone;
  }

  #wanted(): ReadonlyMap<string, Webhook> {
    const { hooksMax } = this.#house.limits;
    const wanted = new Map<string, Webhook>();
    let refused = 0;
    for (const webhook of this.#house.registry.webhooks())
      if (wanted.size < hooksMax) wanted.set(`${webhook.appId}\n${webhook.url}`, webhook);
      else refused += 1;
    if (refused > 0)
      this.#house.log.error({ refused, hooks_max: hooksMax }, 'too many webhooks; some are not served');
    return wanted;
  }

  #take(id: string, webhook: Webhook): void {
    const hook = this.#hooks.get(id);
    if (hook === undefined) this.#hooks.set(id, this.#restored(id, webhook) ?? this.#begun(id, webhook));
    else if (!isSame(hook.webhook, webhook)) hook.update(webhook);
  }

  #restored(id: string, webhook: Webhook): Hook | null {
    const record = this.#known.get(id);
    if (record === undefined) return null;
    const { head } = this.#house.tail;
    // A log that is younger than the book is another log.
    const cursor = Math.min(record.cursor, head);
    const hook = new Hook(
      id,
      webhook,
      { ...record, cursor },
      this.#keptOf(record.number, cursor),
      this.#house,
    );
    hook.update(webhook);
    return hook;
  }

  /** Of parked events there are hardly any behind a cursor: parking takes hours, and moves the cursor on. */
  #keptOf(number: number, cursor: number): KeptBefore {
    const parked = this.#book.parked(number, cursor, this.#house.limits.failedPerHookMax);
    return {
      failed: Array.from(this.#book.failed(number)),
      parkedAhead: parked.map(({ event }) => event.sequence),
    };
  }

  #begun(id: string, webhook: Webhook): Hook {
    const record: HookRecord = {
      number: this.#nextNumber++,
      cursor: this.#house.tail.head,
      parked: 0,
      switchedOff: null,
      lastSuccessAtMs: null,
      lastFailure: null,
    };
    const hook = new Hook(id, webhook, record, nothingKept, this.#house);
    this.#house.ledger.touch(hook);
    return hook;
  }
}

function isSame(one: Webhook, other: Webhook): boolean {
  return one.secret === other.secret && one.types.join() === other.types.join();
}
