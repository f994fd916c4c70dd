/**
 * Many deadlines, one timer. Entries are linked into the slot of the tick in which they may have to end; an
 * entry whose deadline has moved on since (a heartbeat stores one number and nothing else) is relinked when
 * its slot comes up, not when it moves. Renewal is therefore one store, expiry is never early and at most
 * two ticks late, and no entry costs a timer or an allocation.
 */
import { assert } from './assert.ts';
import type { Clock } from './clock.ts';

/** What the wheel needs of an entry; the entry owns these fields and the wheel alone writes the links. */
export interface WheelEntry {
  /** Monotonic milliseconds at which the entry ends. The owner may raise it at any time. */
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

  /** `expire` is called once for each entry past its deadline, after it was unlinked. */
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

  /** Relinks an entry whose deadline came nearer; later ones need nothing. */
  hasten(entry: Entry): void {
    if (entry.wheelNext === null) return;
    unlink(entry);
    this.#link(entry);
  }

  /** Up to `countMax` of the entries, in no order: a copy, so that the wheel may change while it is gone through. */
  pick(countMax: number): Entry[] {
    const picked: Entry[] = [];
    for (const anchor of this.#slots)
      for (let entry = anchor.wheelNext; entry !== null && entry !== anchor; entry = entry.wheelNext) {
        if (picked.length >= countMax) return picked;
        picked.push(entry as Entry);
      }
    return picked;
  }

  /** Turns the wheel to `nowMs`. Call it about once a tick; a late call catches up. */
  turn(nowMs: number): void {
    const target = Math.floor(nowMs / this.#tickMs);
    // Past a full turn every slot is due once, however long the process was stopped.
    if (target - this.#tick > slotCount) this.#tick = target - slotCount;
    while (this.#tick < target) {
      this.#tick += 1;
      this.#sweep(this.#slotOf(this.#tick), nowMs);
    }
  }

  #sweep(anchor: Anchor, nowMs: number): void {
    // Nothing is ever linked into the slot being swept, so taking the first until none is left ends.
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

  /** The slot is that of the first tick at or after the deadline, or the farthest one the wheel can hold. */
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

/** `end` takes its entry off the wheel. Resolves with the number left: 0, or what `deadlineMs` did not suffice for. */
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
