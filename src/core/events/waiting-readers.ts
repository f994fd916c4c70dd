/**
 * Slots for callers that wait for an answer. Their number is bounded, in total and per application; full means 42901, so that long
 * polls of one application leave room for others. Slots do not know the awaited answer. Source: events.md, Reading.
 */
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { ApplicationId } from '../../model/ids.ts';
import { readersPerApplicationShareMax, readersShareMax } from '../../model/http-limits.ts';
import { readersMax, readersPerApplicationMax } from '../../model/limits.ts';
import { SharedPlaces } from '../devices/shared-places.ts';

export interface ReaderLimits {
  readonly max: number;
  readonly perApplicationMax: number;
}

/** `connectionsMax`: connections of the readers' listener. */
export function readerLimits(connectionsMax: number): ReaderLimits {
  const perApplication = Math.ceil(connectionsMax * readersPerApplicationShareMax);
  return {
    max: Math.min(readersMax, Math.ceil(connectionsMax * readersShareMax)),
    perApplicationMax: Math.min(readersPerApplicationMax, perApplication),
  };
}

/** One caller's slot; the caller leaves it after any answer. */
export interface ReaderSlot {
  /**
   * Resolves when woken, after `ms`, when left, or at a drain; at once if already so. A wake without a wait is kept for the next
   * wait, so that none is lost between a read and its wait. One wait at a time.
   */
  wait(ms: number): Promise<void>;
  wake(): void;
  leave(): void;
}

export class WaitingReaders {
  readonly #clock: Clock;
  readonly #places: SharedPlaces;
  readonly #slots = new Set<TakenReaderSlot>();
  #drained = false;

  constructor(clock: Clock, limits: ReaderLimits) {
    this.#clock = clock;
    this.#places = new SharedPlaces(limits.max, limits.perApplicationMax);
  }

  get size(): number {
    return this.#slots.size;
  }

  enter(appId: ApplicationId): ReaderSlot | null {
    if (!this.#places.acquire(appId)) return null;
    const slot = new TakenReaderSlot(this.#clock, this.#drained, () => this.#free(slot, appId));
    this.#slots.add(slot);
    return slot;
  }

  /** Drains: ends all waits now, and each later one at once. */
  wakeAll(): void {
    this.#drained = true;
    for (const slot of this.#slots) slot.endWaits();
  }

  #free(slot: TakenReaderSlot, appId: ApplicationId): void {
    if (this.#slots.delete(slot)) this.#places.release(appId);
  }
}

class TakenReaderSlot implements ReaderSlot {
  readonly #clock: Clock;
  readonly #free: () => void;
  /** True: waits end at once, because the slot was left or the server drains. */
  #ended: boolean;
  #woken = false;
  #resolve: (() => void) | null = null;
  #cancel: Cancel | null = null;

  constructor(clock: Clock, ended: boolean, free: () => void) {
    this.#clock = clock;
    this.#ended = ended;
    this.#free = free;
  }

  async wait(ms: number): Promise<void> {
    assert(this.#resolve === null, 'a slot waits for one thing at a time');
    if (!this.#woken && !this.#ended && ms > 0)
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
        this.#cancel = this.#clock.after(ms, () => this.#endWait());
      });
    this.#woken = false;
  }

  wake(): void {
    this.#woken = true;
    this.#endWait();
  }

  leave(): void {
    this.endWaits();
    this.#free();
  }

  endWaits(): void {
    this.#ended = true;
    this.#endWait();
  }

  #endWait(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#resolve?.();
    this.#resolve = null;
  }
}
