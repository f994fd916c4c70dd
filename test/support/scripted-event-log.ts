/** A log in memory to which a test commits. It records reads, and can be made to fail. */
import type { LoggedEvent } from '../../src/model/events.ts';
import type { DeviceId, EventId, ProductId, RequestId } from '../../src/model/ids.ts';
import type { EventLog } from '../../src/core/ports/event-log.ts';
import { testDevice } from './fakes.ts';

export class ScriptedEventLog implements EventLog {
  failure: Error | null = null;
  /** Called after every read, before the reader gets its result, so that a test can act in between. */
  afterRead: () => void = () => undefined;
  readonly reads: { readonly after: number; readonly limit: number }[] = [];
  #events: LoggedEvent[] = [];
  #head = 0;
  readonly #followers = new Set<(events: readonly LoggedEvent[]) => void>();

  get head(): number {
    return this.#head;
  }

  get oldest(): number {
    return this.#events[0]?.sequence ?? this.#head + 1;
  }

  read(after: number, limit: number): readonly LoggedEvent[] {
    if (this.failure !== null) throw this.failure;
    this.reads.push({ after, limit });
    const first = Math.max(0, after + 1 - this.oldest);
    const slice = this.#events.slice(first, first + limit);
    this.afterRead();
    return slice;
  }

  recentOf(deviceId: DeviceId): readonly LoggedEvent[] {
    return this.#events.filter((event) => event.deviceId === deviceId).reverse();
  }

  catchUp(): void {}

  get followers(): number {
    return this.#followers.size;
  }

  follow(notify: (events: readonly LoggedEvent[]) => void): () => void {
    this.#followers.add(notify);
    return () => this.#followers.delete(notify);
  }

  /** Commits one batch with one event per product; null: a device without one. Returns the sequences. */
  commit(...products: readonly (string | null)[]): number[] {
    const batch = products.map((product, index) => anEvent(this.#head + 1 + index, product));
    this.#events.push(...batch);
    this.#head += batch.length;
    for (const notify of this.#followers) notify(batch);
    return batch.map(({ sequence }) => sequence);
  }

  /** Drops the oldest events up to and including `upTo`. */
  forget(upTo: number): void {
    this.#events = this.#events.filter(({ sequence }) => sequence > upTo);
  }
}

export function anEvent(sequence: number, product: string | null = 'doorbell'): LoggedEvent {
  return {
    type: 'device.wakeup.expired',
    data: { request_id: `ring-${sequence}` as RequestId },
    deviceId: testDevice,
    atMs: Date.UTC(2026, 10, 20, 8, 30, 0, 123),
    epoch: 4,
    id: `event-${sequence}` as EventId,
    sequence,
    seq: sequence,
    productId: product as ProductId | null,
  };
}
