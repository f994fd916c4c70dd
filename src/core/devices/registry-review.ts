/**
 * Re-checks all sessions or calls after a change of the registry, and ends those that are no longer allowed: a bounded amount of
 * work per turn of the loop, so that frames, logins and requests run in between. A change during a walk starts another one after a
 * pause, since a large import arrives in many changes.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { reviewPauseMs, reviewWorkPerTurn } from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';

export interface Reviewed<Item> {
  /** Safe against concurrent changes. */
  all(): Iterator<Item>;
  /** True: the item was ended, which takes longer. Throws when the registry cannot be read. */
  judge(item: Item): boolean;
}

/** Ending one item costs as much as reading this many. */
const endingWork = 10;

export class RegistryReview<Item> {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #reviewed: Reviewed<Item>;
  /** Cancels the next turn or the pause; null: idle. */
  #cancel: Cancel | null = null;
  #isDue = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, reviewed: Reviewed<Item>) {
    this.#clock = clock;
    this.#log = log;
    this.#reviewed = reviewed;
  }

  /** Starts a review after a committed change: the first items at once, the others in later turns. */
  begin(): void {
    this.#isDue = true;
    if (this.#cancel === null) this.#walk();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = () => undefined;
  }

  #walk(): void {
    this.#isDue = false;
    this.#turn(this.#reviewed.all());
  }

  #turn(items: Iterator<Item>, isFirst = true): void {
    const left = this.#judgeSome(items, isFirst);
    // An empty walk needs no pause: the next review starts at once.
    if (left === 'empty') this.#endPause();
    else if (left === 'more') this.#cancel = this.#clock.after(0, () => this.#turn(items, false));
    else this.#cancel = this.#clock.after(reviewPauseMs, () => this.#endPause());
  }

  #endPause(): void {
    this.#cancel = null;
    if (this.#isDue) this.#walk();
  }

  /** `over`: at the end, or the registry is unreadable; `empty`: no items at all. */
  #judgeSome(items: Iterator<Item>, isFirst: boolean): 'more' | 'over' | 'empty' {
    try {
      for (let work = 0; work < reviewWorkPerTurn; work++) {
        const next = items.next();
        if (next.done === true) return isFirst && work === 0 ? 'empty' : 'over';
        if (this.#reviewed.judge(next.value)) work += endingWork;
      }
      return 'more';
    } catch (error) {
      this.#log.error(
        { err: error },
        'sessions and calls: not checked after a registry change: registry unreadable',
      );
      return 'over';
    }
  }
}
