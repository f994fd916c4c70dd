/** A bounded number of places for what is under way, in all and for each application, so that one leaves room for another. */
import { assert } from '../../lib/assert.ts';
import type { ApplicationId } from '../../model/ids.ts';

export class SharedPlaces {
  readonly #max: number;
  readonly #perApplicationMax: number;
  readonly #taken = new Map<ApplicationId, number>();
  #count = 0;

  constructor(max: number, perApplicationMax: number) {
    this.#max = max;
    this.#perApplicationMax = perApplicationMax;
  }

  /** False: as many as may are under way already. True: a place is to be given back. */
  take(appId: ApplicationId): boolean {
    const taken = this.#taken.get(appId) ?? 0;
    if (this.#count >= this.#max || taken >= this.#perApplicationMax) return false;
    this.#count += 1;
    this.#taken.set(appId, taken + 1);
    return true;
  }

  giveBack(appId: ApplicationId): void {
    const left = (this.#taken.get(appId) ?? 0) - 1;
    assert(left >= 0, 'a place is given back once');
    this.#count -= 1;
    if (left > 0) this.#taken.set(appId, left);
    else this.#taken.delete(appId);
  }
}
