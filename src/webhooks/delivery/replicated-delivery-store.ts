/**
 * A webhooks' delivery store that is also kept elsewhere, so that another node can go on: what changes goes there first. If it does
 * not get there, nothing is committed here, and it is handed over again. Source: events.md, Webhooks.
 */
import type { EventId } from '../../model/ids.ts';
import type {
  FailedEvent,
  HookChanges,
  HookRecord,
  ParkedEvent,
  DeliveryStore,
} from '../../core/ports/delivery-store.ts';

export class ReplicatedDeliveryStore implements DeliveryStore {
  readonly #deliveries: DeliveryStore;
  readonly #keep: (changes: readonly HookChanges[]) => Promise<void>;

  /** `keep`: nothing in it is only counted; what is trimmed is named. May be told the same again. */
  constructor(deliveries: DeliveryStore, keep: (changes: readonly HookChanges[]) => Promise<void>) {
    this.#deliveries = deliveries;
    this.#keep = keep;
  }

  hooks(): ReadonlyMap<string, HookRecord> {
    return this.#deliveries.hooks();
  }

  freeNumber(): number {
    return this.#deliveries.freeNumber();
  }

  failed(number: number): Iterable<FailedEvent> {
    return this.#deliveries.failed(number);
  }

  findFailed(number: number, sequence: number): FailedEvent | null {
    return this.#deliveries.findFailed(number, sequence);
  }

  parked(number: number, after: number, limit: number): readonly ParkedEvent[] {
    return this.#deliveries.parked(number, after, limit);
  }

  findParked(number: number, eventId: EventId): Promise<ParkedEvent | null> {
    return this.#deliveries.findParked(number, eventId);
  }

  async commit(changes: readonly HookChanges[]): Promise<void> {
    if (changes.length === 0) return;
    await this.#keep(changes.map((change) => this.#named(change)));
    await this.#deliveries.commit(changes);
  }

  sweep(): Promise<void> {
    return this.#deliveries.sweep();
  }

  #named(change: HookChanges): HookChanges {
    if (change.parkedTrimmed === 0) return change;
    const parked = new Map<number, ParkedEvent | null>();
    for (const { event } of this.#deliveries.parked(change.number, 0, change.parkedTrimmed))
      parked.set(event.sequence, null);
    for (const [sequence, kept] of change.parked) parked.set(sequence, kept);
    return { ...change, parked, parkedTrimmed: 0 };
  }
}
