/** A webhook delivery store in memory: another engine sees exactly what was committed. */
import type { EventId } from '../../src/model/ids.ts';
import type {
  FailedEvent,
  HookChanges,
  HookRecord,
  ParkedEvent,
  DeliveryStore,
} from '../../src/core/ports/delivery-store.ts';

interface Kept {
  readonly failed: Map<number, FailedEvent>;
  readonly parked: Map<number, ParkedEvent>;
}

export class MemoryDeliveryStore implements DeliveryStore {
  readonly records = new Map<string, HookRecord>();
  readonly #kept = new Map<number, Kept>();
  failure: Error | null = null;
  commits = 0;

  hooks(): ReadonlyMap<string, HookRecord> {
    return new Map(this.records);
  }

  freeNumber(): number {
    const used = Array.from(this.#kept).filter(([, { failed, parked }]) => failed.size + parked.size > 0);
    const numbers = [
      ...used.map(([number]) => number),
      ...Array.from(this.records.values(), ({ number }) => number),
    ];
    return 1 + Math.max(0, ...numbers);
  }

  failed(number: number): FailedEvent[] {
    return inOrder(this.#keptOf(number).failed);
  }

  findFailed(number: number, sequence: number): FailedEvent | null {
    return this.#keptOf(number).failed.get(sequence) ?? null;
  }

  parked(number: number, after: number, limit: number): ParkedEvent[] {
    return inOrder(this.#keptOf(number).parked)
      .filter(({ event }) => event.sequence > after)
      .slice(0, limit);
  }

  async findParked(number: number, eventId: EventId): Promise<ParkedEvent | null> {
    return inOrder(this.#keptOf(number).parked).find(({ event }) => event.id === eventId) ?? null;
  }

  async commit(changes: readonly HookChanges[]): Promise<void> {
    if (this.failure !== null) throw this.failure;
    if (changes.length > 0) this.commits += 1;
    for (const change of changes) this.#write(change);
  }

  async sweep(): Promise<void> {
    const living = new Set(Array.from(this.records.values(), ({ number }) => number));
    for (const number of this.#kept.keys()) if (!living.has(number)) this.#kept.delete(number);
  }

  #write({ id, record, number, failed, parked, parkedTrimmed }: HookChanges): void {
    if (record === null) return void this.records.delete(id);
    this.records.set(id, record);
    const kept = this.#keptOf(number);
    for (const { event } of this.parked(number, 0, parkedTrimmed)) kept.parked.delete(event.sequence);
    apply(kept.failed, failed);
    apply(kept.parked, parked);
  }

  #keptOf(number: number): Kept {
    const known = this.#kept.get(number);
    if (known !== undefined) return known;
    const kept = { failed: new Map(), parked: new Map() };
    this.#kept.set(number, kept);
    return kept;
  }
}

function apply<Entry>(kept: Map<number, Entry>, changes: ReadonlyMap<number, Entry | null>): void {
  for (const [sequence, entry] of changes)
    if (entry === null) kept.delete(sequence);
    else kept.set(sequence, entry);
}

function inOrder<Entry>(kept: ReadonlyMap<number, Entry>): Entry[] {
  return Array.from(kept)
    .sort(([one], [other]) => one - other)
    .map(([, entry]) => entry);
}
