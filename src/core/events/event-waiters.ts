/**
 * The readers that wait for new events, by application. One follower of the log serves all readers while there are any: it checks
 * each batch once, product by product, and wakes the readers of the affected applications only; the others need not scan the batch
 * when their wait ends. Source: events.md, Reading.
 */
import type { LoggedEvent } from '../../model/events.ts';
import type { ApplicationId, ProductId } from '../../model/ids.ts';
import type { EventLog } from '../ports/event-log.ts';
import type { Log } from '../../lib/log.ts';
import type { RegistryReader } from '../ports/registry-reader.ts';
import type { ReaderSlot } from './waiting-readers.ts';

export interface EventWaitersDeps {
  readonly events: EventLog;
  readonly registry: RegistryReader;
  readonly log: Log;
}

interface Waiter {
  readonly slot: ReaderSlot;
  /** No event for it up to this sequence; null: none has arrived. */
  arrivedBehind: number | null;
}

export class EventWaiters {
  readonly #deps: EventWaitersDeps;
  readonly #waiting = new Map<ApplicationId, Set<Waiter>>();
  #notifiedUpTo = 0;
  #unfollow: (() => void) | null = null;

  constructor(deps: EventWaitersDeps) {
    this.#deps = deps;
  }

  /** Sequence of the newest event whose readers were woken; without readers the head. */
  get notifiedUpTo(): number {
    return this.#unfollow === null ? this.#deps.events.head : this.#notifiedUpTo;
  }

  /**
   * Waits at most `ms` for an event of the application after the current `notifiedUpTo`; reader slots bound the waits. Resolves to
   * the sequence after which to scan; null: none arrived. Never rejects.
   */
  async wait(appId: ApplicationId, slot: ReaderSlot, ms: number): Promise<number | null> {
    this.#follow();
    const waiter: Waiter = { slot, arrivedBehind: null };
    const others = this.#waiting.get(appId);
    if (others === undefined) this.#waiting.set(appId, new Set([waiter]));
    else others.add(waiter);
    await slot.wait(ms);
    this.#remove(appId, waiter);
    return waiter.arrivedBehind;
  }

  #remove(appId: ApplicationId, waiter: Waiter): void {
    const waiting = this.#waiting.get(appId);
    waiting?.delete(waiter);
    if (waiting?.size === 0) this.#waiting.delete(appId);
    if (this.#waiting.size > 0) return;
    this.#unfollow?.();
    this.#unfollow = null;
  }

  #follow(): void {
    if (this.#unfollow !== null) return;
    const { events } = this.#deps;
    this.#notifiedUpTo = events.head;
    this.#unfollow = events.follow((committed) => this.#notify(committed));
  }

  #notify(events: readonly LoggedEvent[]): void {
    const seen = new Set<ProductId>();
    for (const { productId, sequence } of events) {
      if (this.#waiting.size > 0 && productId !== null && !seen.has(productId)) {
        seen.add(productId);
        for (const appId of this.#applicationsOf(productId)) this.#wake(appId, sequence - 1);
      }
      this.#notifiedUpTo = sequence;
    }
  }

  /** Applications of the product; all waiting ones if the registry cannot be read, since their own scan then reports the failure. */
  #applicationsOf(productId: ProductId): Iterable<ApplicationId> {
    try {
      return this.#deps.registry.findProduct(productId)?.appIds ?? [];
    } catch (error) {
      this.#deps.log.error(
        { err: error },
        'events: product not looked up: registry unreadable; all waiting readers wake',
      );
      return Array.from(this.#waiting.keys());
    }
  }

  #wake(appId: ApplicationId, behind: number): void {
    const waiting = this.#waiting.get(appId);
    if (waiting === undefined) return;
    this.#waiting.delete(appId);
    for (const waiter of waiting) {
      waiter.arrivedBehind = behind;
      waiter.slot.wake();
    }
  }
}
