/** Bounds the work in progress, in total and per application, so that one application leaves room for others. */
import { assert } from '../../lib/assert.ts';
import type { ApplicationId } from '../../model/ids.ts';

export class SharedPlaces {
  readonly #max: number;
  readonly #perApplicationMax: number;
  readonly #inUse = new Map<ApplicationId, number>();
  #count = 0;

  constructor(max: number, perApplicationMax: number) {
    this.#max = max;
    this.#perApplicationMax = perApplicationMax;
  }

  /** False: the limit is reached. True: the caller owes `release`. */
  acquire(appId: ApplicationId): boolean {
    const inUse = this.#inUse.get(appId) ?? 0;
    if (this.#count >= this.#max || inUse >= this.#perApplicationMax) return false;
    this.#count += 1;
    this.#inUse.set(appId, inUse + 1);
    return true;
  }

  release(appId: ApplicationId): void {
    const left = (this.#inUse.get(appId) ?? 0) - 1;
    assert(left >= 0, 'a place is released once');
    this.#count -= 1;
    if (left > 0) this.#inUse.set(appId, left);
    else this.#inUse.delete(appId);
  }
}
