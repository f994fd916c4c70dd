/**
 * Events on their way into the log that all nodes share. Each gets its device's next `seq` by the compare-and-set of its
 * subject: whoever writes, there is no gap and no repeat. One that is told twice, after a crash or an acknowledgement
 * that was lost, is in the log once. Source: cluster.md, Events.
 */
import { LRUCache } from 'lru-cache';
import { type Clock, pause } from '../../lib/clock.ts';
import type { LoggedEvent } from '../../model/events.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { OutboxEvent } from '../../core/ports/outbox.ts';
import type { DeviceEvents, StoredEvent } from './device-events.ts';
import {
  clockSkewMsMax,
  duplicateSafeMs,
  eventsLookedAtMax,
  newestEventsKnownMax,
  publishAttemptsMax,
  publishJitterMsMax,
} from './log-limits.ts';

export interface EventStreamDeps {
  readonly clock: Clock;
  readonly events: DeviceEvents;
  /** The device's last seq in the mirror; 0: it knows none. */
  readonly seqOf: (deviceId: DeviceId) => number;
  /** The device's latest events in the mirror, newest first. */
  readonly recentOf: (deviceId: DeviceId) => readonly Pick<LoggedEvent, 'id' | 'sequence'>[];
  /** Draws from 0 to 1. */
  readonly random?: () => number;
}

/** A device's newest event in the stream. */
interface Newest {
  /** Of the stream; 0: it has none there. */
  readonly sequence: number;
  readonly seq: number;
  /** It came from here, in this life: then nothing that is told after it can have been told before. */
  readonly isOwn: boolean;
}

export class EventStream {
  readonly #deps: EventStreamDeps;
  readonly #newest: LRUCache<DeviceId, Newest>;

  /** `devicesMax`: that may be here; the newest events of more of them need not be known. */
  constructor(deps: EventStreamDeps, devicesMax = newestEventsKnownMax) {
    this.#deps = deps;
    this.#newest = new LRUCache({ max: Math.min(devicesMax, newestEventsKnownMax) });
  }

  /**
   * Resolves when it is in the stream, once. Rejects while NATS is away, and when others were first too often; then it is
   * to be told again. Events of one device come one after the other, those of different devices at once.
   */
  async publish(event: OutboxEvent): Promise<void> {
    const { deviceId } = event.draft;
    const { clock, random = Math.random } = this.#deps;
    try {
      for (let attempt = 0; attempt < publishAttemptsMax; attempt++) {
        if (attempt > 0) await pause(clock, random() * publishJitterMsMax);
        const newest = this.#known(event) ?? (await this.#look(event));
        if (newest === 'there' || (await this.#put(event, newest))) return;
      }
    } catch (error) {
      this.#newest.delete(deviceId);
      throw error;
    }
    throw new Error(`${publishAttemptsMax} others were first to write an event of a device`);
  }

  /** The mirror has seen it: what comes next of its device need not ask. */
  saw({ deviceId, sequence, seq }: LoggedEvent): void {
    const known = this.#newest.get(deviceId);
    if (known === undefined || known.sequence < sequence)
      this.#newest.set(deviceId, { sequence, seq, isOwn: false });
  }

  /** False: another was first. */
  async #put(event: OutboxEvent, { sequence: last, seq }: Newest): Promise<boolean> {
    const { id, draft, productId } = event;
    const put = await this.#deps.events.put({ id, draft, productId, seq: seq + 1 }, last);
    if (put.kind === 'stored') this.#follow(draft.deviceId, put.sequence, seq + 1);
    else this.#newest.delete(draft.deviceId);
    return put.kind !== 'conflict';
  }

  #follow(deviceId: DeviceId, sequence: number, seq: number): void {
    const known = this.#newest.get(deviceId);
    if (known === undefined || known.sequence <= sequence)
      this.#newest.set(deviceId, { sequence, seq, isOwn: true });
  }

  #known(event: OutboxEvent): Newest | null {
    const known = this.#newest.get(event.draft.deviceId);
    return known !== undefined && (known.isOwn || this.#isYoung(event)) ? known : null;
  }

  /** Asks the stream. `there`: it has this event already. */
  async #look(event: OutboxEvent): Promise<Newest | 'there'> {
    const { events, seqOf } = this.#deps;
    const { deviceId } = event.draft;
    const last = await events.last(deviceId);
    if (last === null) return { sequence: 0, seq: seqOf(deviceId), isOwn: false };
    const isThere = last.event?.id === event.id || (await this.#isBefore(event, last));
    const seq = last.event?.seq ?? seqOf(deviceId);
    const newest = { sequence: last.sequence, seq, isOwn: false };
    this.#newest.set(deviceId, newest);
    return isThere ? 'there' : newest;
  }

  /** Whether it is among the device's events before the last one, as far back as the mirror knows them. */
  async #isBefore(event: OutboxEvent, last: StoredEvent): Promise<boolean> {
    if (this.#isYoung(event) || last.storedAtMs < event.draft.atMs - clockSkewMsMax) return false;
    const { events, recentOf } = this.#deps;
    const { deviceId } = event.draft;
    const mirrored = recentOf(deviceId);
    if (mirrored.some(({ id }) => id === event.id)) return true;
    let from = (mirrored[0]?.sequence ?? 0) + 1;
    for (let looked = 0; looked < eventsLookedAtMax && from < last.sequence; looked++) {
      const next = await events.next(deviceId, from);
      if (next === null) return false;
      if (next.event?.id === event.id) return true;
      from = next.sequence + 1;
    }
    return false;
  }

  /** The stream itself knows it by its id, if it has it. */
  #isYoung({ draft }: OutboxEvent): boolean {
    return Math.abs(this.#deps.clock.wallMs() - draft.atMs) < duplicateSafeMs;
  }
}
