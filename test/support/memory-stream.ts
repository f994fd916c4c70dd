/** A NATS stream in memory: events of devices by compare-and-set, and a tail that a test can cut. */
import type { DeviceEvents, EventPut, StoredEvent } from '../../src/cluster/events/device-events.ts';
import type { OpenTail, TailSource } from '../../src/cluster/events/stream-tail.ts';
import { encodeSharedEvent, type SharedLogEvent } from '../../src/protocol/cluster/stored-values.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { DeviceId, EventId } from '../../src/model/ids.ts';
import { SharedStateUnavailable } from '../../src/core/ports/session-locator.ts';
import { PushedMessages } from './pushed-messages.ts';

export class MemoryStream implements DeviceEvents, TailSource {
  readonly stream = 'events';
  readonly stored: (StoredEvent & { readonly data: Uint8Array })[] = [];
  readonly #clock: Clock;
  /** Ids in its duplicate window; clear it to end the window. */
  readonly window = new Set<EventId>();
  isUnavailable = false;
  /** True: the next put is stored and its acknowledgement is lost. */
  losesAck = false;
  /** Number by which the reported count of pending messages is too high. */
  miscounts = 0;
  isHeld = false;
  asked = 0;
  opened: number[] = [];
  #tails = new Set<PushedMessages>();
  #sequence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get events(): SharedLogEvent[] {
    return this.stored.flatMap(({ event }) => event ?? []);
  }

  async last(deviceId: DeviceId): Promise<StoredEvent | null> {
    this.#reach();
    this.asked += 1;
    return this.#of(deviceId).at(-1) ?? null;
  }

  async next(deviceId: DeviceId, sequence: number): Promise<StoredEvent | null> {
    this.#reach();
    this.asked += 1;
    return this.#of(deviceId).find((stored) => stored.sequence >= sequence) ?? null;
  }

  async put(event: SharedLogEvent, last: number): Promise<EventPut> {
    this.#reach();
    if (this.window.has(event.id)) return { kind: 'duplicate' };
    if ((this.#of(event.draft.deviceId).at(-1)?.sequence ?? 0) !== last) return { kind: 'conflict' };
    const sequence = this.add(encodeSharedEvent(event), event);
    this.window.add(event.id);
    if (!this.losesAck) return { kind: 'stored', sequence };
    this.losesAck = false;
    throw new SharedStateUnavailable('no answer');
  }

  add(data: Uint8Array, event: SharedLogEvent | null = null): number {
    const sequence = (this.#sequence += 1);
    this.stored.push({ sequence, storedAtMs: this.#clock.wallMs(), event, data });
    if (!this.isHeld)
      for (const tail of this.#tails) tail.push({ sequence, subject: 'x', data, pending: this.miscounts });
    return sequence;
  }

  async open(after: number): Promise<OpenTail> {
    this.#reach();
    this.opened.push(after);
    const behind = this.stored.filter(({ sequence }) => sequence > after);
    const tail = new PushedMessages({ dropsAtClose: false });
    for (const [at, { sequence, data }] of behind.entries())
      tail.push({ sequence, subject: 'x', data, pending: behind.length - at - 1 });
    this.#tails.add(tail);
    return { messages: tail, last: this.#sequence, pending: behind.length, close: () => tail.close() };
  }

  async newest(): Promise<number> {
    this.#reach();
    return this.stored.at(-1)?.sequence ?? 0;
  }

  async resumeAfter(sequence: number): Promise<void> {
    this.stored.length = 0;
    this.#sequence = sequence;
  }

  /** Readers lose their subscription. */
  cut(): void {
    for (const tail of this.#tails) tail.close();
    this.#tails.clear();
  }

  #of(deviceId: DeviceId): StoredEvent[] {
    return this.stored.filter(({ event }) => event?.draft.deviceId === deviceId);
  }

  #reach(): void {
    if (this.isUnavailable) throw new SharedStateUnavailable('NATS is away');
  }
}
