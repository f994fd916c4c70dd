/**
 * The readers that wait for new events, by application. This alone follows the log for all readers, while there are any: a
 * batch is looked at once, product by product, and wakes those whose application it concerns; the others are not disturbed,
 * and need not look at it when their time is over. Source: events.md, Reading.
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
  /** Up to here there was nothing for it; null: nothing came yet. */
  arrivedBehind: number | null;
}

export class EventWaiters {
  readonly #deps: EventWaitersDeps;
  readonly #waiting = new Map<ApplicationId, Set<Waiter>>();
  #notifiedUpTo = 0;
  /** Null: nobody waits, and the log is not followed. */
  #unfollow: (() => void) | null = null;

  constructor(deps: EventWaitersDeps) {
    this.#deps = deps;
  }

  /** The sequence of the newest event whose readers were woken, or would have been. */
  get notifiedUpTo(): number {
    return this.#unfollow === null ? this.#deps.events.head : this.#notifiedUpTo;
  }

  /**
   * Waits, at most `ms`, for an event of the application's behind `notifiedUpTo` as it is at the call; as many at once as
   * there are reader slots. Resolves to the sequence behind which to look for it; null: none came. Never rejects.
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
        for (const appId of this.#concerned(productId)) this.#wake(appId, sequence - 1);
      }
      this.#notifiedUpTo = sequence;
    }
  }

  /** With a registry that cannot be read, everybody: they look themselves, and answer for it. */
  #concerned(productId: ProductId): Iterable<ApplicationId> {
    try {
      return this.#deps.registry.findProduct(productId)?.appIds ?? [];
    } catch (error) {
      this.#deps.log.error(
        { err: error },
        'cannot read the applications of an event: the registry is unreadable',
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
