/**
 * Goes through all that is here after a change of the registry and ends what may not be here any more: so much a turn
 * of the loop, so that frames, logins and requests come in between however much there is. A change on the way is
 * followed by another walk, with a pause between: a large
 * import comes to a node in many changes.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import { reviewPauseMs, reviewWorkPerTurn } from '../../model/limits.ts';
import type { Log } from '../../lib/log.ts';

export interface Reviewed<Item> {
  /** Safe against what comes and goes on the way. */
  all(): Iterator<Item>;
  /** True: it was ended, which takes longer. Throws when the registry cannot be read. */
  judge(item: Item): boolean;
}

/** To end one is as much as reading so many. */
const endingWork = 10;

export class RegistryReview<Item> {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #reviewed: Reviewed<Item>;
  /** Of the next turn, or of the pause; null: nothing is under way. */
  #cancel: Cancel | null = null;
  #isDue = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, reviewed: Reviewed<Item>) {
    this.#clock = clock;
    this.#log = log;
    this.#reviewed = reviewed;
  }

  /** After a change that is to be read by now. The first of them at once, the others in the turns that follow. */
  begin(): void {
    this.#isDue = true;
    if (this.#cancel === null) this.#walk();
  }

  /** For good. */
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
    // What is taken up next is looked at at once: there was nothing here to pause for.
    if (left === 'empty') this.#rested();
    else if (left === 'more') this.#cancel = this.#clock.after(0, () => this.#turn(items, false));
    else this.#cancel = this.#clock.after(reviewPauseMs, () => this.#rested());
  }

  #rested(): void {
    this.#cancel = null;
    if (this.#isDue) this.#walk();
  }

  /** `over`: it has come to the end, or can go no further; `empty`: there was nothing at all. */
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
        'cannot re-check sessions and calls after a registry change: registry unreadable',
      );
      return 'over';
    }
  }
}
