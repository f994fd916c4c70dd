/**
 * The outbox of a node: one row per change, in the order in which they happened. A row is put in the batch that commits the
 * change, and removed once all members have it. An unreadable row is skipped and stays for inspection; later rows are sent.
 * Source: cluster.md, Events.
 */
import { asBinary } from 'lmdb';
import type { Cancel } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { Outbox, PlacedItem } from '../../core/ports/outbox.ts';
import { countEntries, type Environment } from '../lmdb/environment.ts';
import { eventKey, sequenceOf } from '../events/event-rows.ts';
import { decodeOutboxItem, encodeOutboxItem, lastPlaceKey, type OutboxTables } from './outbox-rows.ts';
import type { StateTables } from '../lmdb/state-tables.ts';

export class OutboxStore implements Outbox {
  readonly #environment: Environment;
  readonly #tables: OutboxTables;
  readonly #log: Log;
  readonly #followers = new Set<{ readonly listener: () => void }>();
  /** Places of unreadable rows that are logged already. */
  readonly #unreadable = new Set<number>();

  constructor(state: StateTables, log: Log) {
    this.#environment = state.environment;
    this.#tables = state.outbox;
    this.#log = log;
  }

  get length(): number {
    this.#environment.refresh();
    return countEntries(this.#tables.items) - this.#unreadable.size;
  }

  read(after: number, limit: number): readonly PlacedItem[] {
    const found: PlacedItem[] = [];
    if (limit <= 0) return found;
    for (const key of this.#tables.items.getKeys({ start: eventKey(after + 1) })) {
      const placed = this.#readOne(key);
      if (placed !== null && found.push(placed) === limit) break;
    }
    return found;
  }

  follow(listener: () => void): Cancel {
    const follower = { listener };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  async forget(places: readonly number[]): Promise<void> {
    await this.#environment.transaction(() => {
      for (const place of places) void this.#tables.items.remove(eventKey(place));
    });
  }

  /** Highest place ever assigned. Throws when the store cannot be read. */
  get lastPlace(): number {
    return this.#tables.places.get(lastPlaceKey) ?? 0;
  }

  /** Inside a batch only; items ascend by place. */
  put(items: readonly PlacedItem[]): void {
    for (const { place, item } of items)
      void this.#tables.items.put(eventKey(place), asBinary(encodeOutboxItem(item)));
    const last = items.at(-1);
    if (last !== undefined) void this.#tables.places.put(lastPlaceKey, last.place);
  }

  /** True if the batch with this item is visible; valid until the item may have been removed. Never throws. */
  isVisible({ place }: PlacedItem): boolean {
    try {
      return this.#tables.items.getBinaryFast(eventKey(place)) !== undefined;
    } catch {
      return false;
    }
  }

  /** Call after a commit with new items. Errors of followers are logged. */
  notify(): void {
    for (const { listener } of Array.from(this.#followers))
      try {
        listener();
      } catch (error) {
        this.#log.error({ err: error }, 'outbox: a follower failed');
      }
  }

  #readOne(key: Buffer): PlacedItem | null {
    const bytes = this.#tables.items.getBinary(key);
    if (bytes === undefined) return null;
    const place = sequenceOf(key);
    const item = decodeOutboxItem(bytes);
    if (item.ok) return { place, item: item.value };
    if (!this.#unreadable.has(place)) {
      this.#unreadable.add(place);
      this.#log.error(
        { place, fault: item.error },
        'outbox: unreadable item skipped; its row stays in the store',
      );
    }
    return null;
  }
}
