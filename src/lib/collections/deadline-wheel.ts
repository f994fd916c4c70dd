/**
 * Many deadlines, one timer. An entry is linked into the slot of its deadline's tick. Raising a deadline (a heartbeat) is a
 * single store: the entry is relinked when its slot is due. Expiry is never early and at most two ticks late, and an entry costs
 * neither a timer nor an allocation.
 */
import { assert } from '../assert.ts';
import type { Clock } from '../clock.ts';

/** Fields of an entry. The entry's class declares them; only the wheel writes the links. */
export interface WheelEntry {
  /** Monotonic milliseconds at which the entry expires. The owner may raise it at any time. */
  deadlineMs: number;
  wheelNext: WheelEntry | null;
  wheelPrevious: WheelEntry | null;
}

class Anchor implements WheelEntry {
  deadlineMs = 0;
  wheelNext: WheelEntry | null = this;
  wheelPrevious: WheelEntry | null = this;
}

const slotCount = 512;

export class DeadlineWheel<Entry extends WheelEntry> {
  readonly #slots: Anchor[] = Array.from({ length: slotCount }, () => new Anchor());
  readonly #tickMs: number;
  readonly #expire: (entry: Entry) => void;
  #tick: number;
  #size = 0;

  /** `expire` is called once for each expired entry, after it is unlinked. */
  constructor(tickMs: number, nowMs: number, expire: (entry: Entry) => void) {
    assert(tickMs > 0, 'a wheel turns');
    this.#tickMs = tickMs;
    this.#tick = Math.floor(nowMs / tickMs);
    this.#expire = expire;
  }

  get size(): number {
    return this.#size;
  }

  add(entry: Entry): void {
    assert(entry.wheelNext === null, 'an entry is on the wheel once');
    this.#link(entry);
    this.#size += 1;
  }

  /** Does nothing when the entry is not on the wheel. */
  remove(entry: Entry): void {
    if (entry.wheelNext === null) return;
    unlink(entry);
    this.#size -= 1;
  }

  /** Relinks an entry whose deadline was lowered; raised deadlines need no call. */
  hasten(entry: Entry): void {
    if (entry.wheelNext === null) return;
    unlink(entry);
    this.#link(entry);
  }

  /** Up to `countMax` entries in no order: a copy, so that the wheel may change while the caller iterates. */
  pick(countMax: number): Entry[] {
    const picked: Entry[] = [];
    for (const anchor of this.#slots)
      for (let entry = anchor.wheelNext; entry !== null && entry !== anchor; entry = entry.wheelNext) {
        if (picked.length >= countMax) return picked;
        picked.push(entry as Entry);
      }
    return picked;
  }

  /** Advances the wheel to `nowMs`. Call it about once a tick; a late call catches up. */
  turn(nowMs: number): void {
    const target = Math.floor(nowMs / this.#tickMs);
    // After a full turn every slot is due once, however long the process was stopped.
    if (target - this.#tick > slotCount) this.#tick = target - slotCount;
    while (this.#tick < target) {
      this.#tick += 1;
      this.#sweep(this.#slotOf(this.#tick), nowMs);
    }
  }

  #sweep(anchor: Anchor, nowMs: number): void {
    // The loop ends: nothing is linked into the slot that is being swept.
    for (let entry = anchor.wheelNext; entry !== anchor; entry = anchor.wheelNext) {
      assert(entry !== null, 'an anchor is always linked');
      unlink(entry);
      if (entry.deadlineMs > nowMs) this.#link(entry as Entry);
      else {
        this.#size -= 1;
        this.#expire(entry as Entry);
      }
    }
  }

  /** Uses the slot of the first tick at or after the deadline, or the farthest slot of the wheel. */
  #link(entry: Entry): void {
    const due = Math.ceil(entry.deadlineMs / this.#tickMs);
    const tick = Math.min(Math.max(due, this.#tick + 1), this.#tick + slotCount - 1);
    const anchor = this.#slotOf(tick);
    const last = anchor.wheelPrevious;
    assert(last !== null, 'an anchor is always linked');
    entry.wheelPrevious = last;
    entry.wheelNext = anchor;
    last.wheelNext = entry;
    anchor.wheelPrevious = entry;
  }

  #slotOf(tick: number): Anchor {
    const anchor = this.#slots[tick % slotCount];
    assert(anchor !== undefined, 'the wheel has a slot for every tick');
    return anchor;
  }
}

function unlink(entry: WheelEntry): void {
  const { wheelNext, wheelPrevious } = entry;
  assert(wheelNext !== null && wheelPrevious !== null, 'an unlinked entry is not unlinked again');
  wheelPrevious.wheelNext = wheelNext;
  wheelNext.wheelPrevious = wheelPrevious;
  entry.wheelNext = null;
  entry.wheelPrevious = null;
}

const drainStepMs = 100;

/** Calls `end` for entries at the given rate; `end` removes its entry. Resolves with the number of entries left at `deadlineMs`. */
export function drain<Entry extends WheelEntry>(
  entries: DeadlineWheel<Entry>,
  clock: Clock,
  ratePerSecond: number,
  deadlineMs: number,
  end: (entry: Entry) => void,
): Promise<number> {
  const startedMs = clock.monotonicMs();
  let drained = 0;
  return new Promise((resolve) => {
    const step = (): void => {
      const elapsedMs = clock.monotonicMs() - startedMs;
      const due = Math.floor((Math.min(elapsedMs, deadlineMs) / 1000) * ratePerSecond);
      for (const entry of entries.pick(due - drained)) end(entry);
      drained = due;
      if (entries.size > 0 && elapsedMs < deadlineMs) return;
      cancel();
      resolve(entries.size);
    };
    const cancel = clock.every(drainStepMs, step);
    if (entries.size === 0) step();
  });
}
