/** An in-memory event log that accepts drafts as the server makes them, and assigns ids and numbers. */
import type { EventDraft, LoggedEvent } from '../../src/model/events.ts';
import { generateEventId, type DeviceId, type ProductId, type SessionId } from '../../src/model/ids.ts';
import { recentEventsOfDeviceMax } from '../../src/model/limits.ts';
import type { EventLog } from '../../src/core/ports/event-log.ts';
import { testDevice } from './fakes.ts';

export class DraftedEventLog implements EventLog {
  #events: LoggedEvent[] = [];
  readonly #seqs = new Map<DeviceId, number>();
  readonly #followers = new Set<(events: readonly LoggedEvent[]) => void>();
  head = 0;
  reads = 0;
  failure: Error | null = null;

  get oldest(): number {
    return this.#events[0]?.sequence ?? this.head + 1;
  }

  read(after: number, limit: number): readonly LoggedEvent[] {
    if (this.failure !== null) throw this.failure;
    this.reads += 1;
    const from = Math.max(0, after + 1 - this.oldest);
    return this.#events.slice(from, from + limit);
  }

  recentOf(deviceId: DeviceId): readonly LoggedEvent[] {
    return this.#events
      .filter((event) => event.deviceId === deviceId)
      .slice(-recentEventsOfDeviceMax)
      .toReversed();
  }

  catchUp(): void {}

  follow(notify: (events: readonly LoggedEvent[]) => void): () => void {
    this.#followers.add(notify);
    return () => this.#followers.delete(notify);
  }

  append(...drafts: readonly EventDraft[]): void {
    const batch = drafts.map((draft) => this.#place(draft));
    this.#events.push(...batch);
    for (const notify of this.#followers) notify(batch);
  }

  /** Drops the oldest `count` events, as retention does. */
  forget(count: number): void {
    this.#events = this.#events.slice(count);
  }

  #place(draft: EventDraft): LoggedEvent {
    const sequence = ++this.head;
    const seq = (this.#seqs.get(draft.deviceId) ?? 0) + 1;
    this.#seqs.set(draft.deviceId, seq);
    const id = generateEventId(draft.atMs, sequence);
    return { ...draft, id, sequence, seq, productId: 'doorbell' as ProductId };
  }
}

type Place = Partial<Pick<EventDraft, 'deviceId' | 'atMs' | 'epoch'>>;

/** Default: the tests' device. */
export function sleepLogin(place: Place = {}): EventDraft {
  const data = { session: 'session-1' as SessionId, node: 'node-1', replaced: false };
  return { type: 'device.sleep.login', deviceId: testDevice, atMs: 1_000_000, epoch: 1, data, ...place };
}

/** Default: the tests' device. */
export function signalOffline(place: Place = {}): EventDraft {
  const data = {
    session: 'session-2' as SessionId,
    node: 'node-1',
    reason: 'heartbeat_timeout',
  } as const;
  return { type: 'device.signal.offline', deviceId: testDevice, atMs: 1_000_000, epoch: 1, data, ...place };
}
