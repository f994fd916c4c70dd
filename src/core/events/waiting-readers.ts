/**
 * The slots of readers that may wait for an answer that is not there yet. Their number is bounded, in all and per
 * application: full means 42901, so that one application's long polls leave room for another's. This knows nothing of
 * what they wait for. Source: events.md, Reading.
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

/** `connectionsMax`: those of the listener that the readers ask. */
export function readerLimits(connectionsMax: number): ReaderLimits {
  const perApplication = Math.ceil(connectionsMax * readersPerApplicationShareMax);
  return {
    max: Math.min(readersMax, Math.ceil(connectionsMax * readersShareMax)),
    perApplicationMax: Math.min(readersPerApplicationMax, perApplication),
  };
}

/** The slot of one caller, who gives it back whatever became of the answer. */
export interface ReaderSlot {
  /**
   * Resolves when woken, after `ms`, when left, or at drain; at once when that is so already. A wake that nobody
   * waited for is kept for the next wait, so that none is lost between looking and waiting. One wait at a time.
   */
  wait(ms: number): Promise<void>;
  wake(): void;
  /** Gives the slot back. May be called again. */
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

  /** The number of slots taken. */
  get size(): number {
    return this.#slots.size;
  }

  /** Null: as many as may are here already. */
  enter(appId: ApplicationId): ReaderSlot | null {
    if (!this.#places.take(appId)) return null;
    const slot = new TakenReaderSlot(this.#clock, this.#drained, () => this.#free(slot, appId));
    this.#slots.add(slot);
    return slot;
  }

  /** For a drain: every wait ends now, and every later one at once. */
  wakeAll(): void {
    this.#drained = true;
    for (const slot of this.#slots) slot.endWaits();
  }

  #free(slot: TakenReaderSlot, appId: ApplicationId): void {
    if (this.#slots.delete(slot)) this.#places.giveBack(appId);
  }
}

class TakenReaderSlot implements ReaderSlot {
  readonly #clock: Clock;
  readonly #free: () => void;
  /** No wait lasts: left, or drained. */
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
        this.#cancel = this.#clock.after(ms, () => this.#settle());
      });
    this.#woken = false;
  }

  wake(): void {
    this.#woken = true;
    this.#settle();
  }

  leave(): void {
    this.endWaits();
    this.#free();
  }

  endWaits(): void {
    this.#ended = true;
    this.#settle();
  }

  #settle(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#resolve?.();
    this.#resolve = null;
  }
}
