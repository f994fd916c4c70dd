/** A log in memory that a test commits to. It remembers how it was read, and fails when told to. */
import type { LoggedEvent } from '../../src/model/events.ts';
import type { DeviceId, EventId, ProductId, RequestId } from '../../src/model/ids.ts';
import type { EventLog } from '../../src/core/ports/event-log.ts';
import { testDevice } from './fakes.ts';

export class ScriptedEventLog implements EventLog {
  failure: Error | null = null;
  /** Called after every read, before the reader has its result: a test's chance to come in between. */
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

  /** How many follow it. */
  get followers(): number {
    return this.#followers.size;
  }

  follow(told: (events: readonly LoggedEvent[]) => void): () => void {
    this.#followers.add(told);
    return () => this.#followers.delete(told);
  }

  /** One batch, an event of each of these products; null: of a device without one. The sequences they got. */
  commit(...products: readonly (string | null)[]): number[] {
    const batch = products.map((product, index) => anEvent(this.#head + 1 + index, product));
    this.#events.push(...batch);
    this.#head += batch.length;
    for (const told of this.#followers) told(batch);
    return batch.map(({ sequence }) => sequence);
  }

  /** The oldest are no longer kept, up to this one. */
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
