/** Where the entries of the webhooks' book stand in its bucket: numbered places, the free ones used first. */

export interface DeliveryEntryName {
  readonly kind: 'failed' | 'parked';
  readonly sequence: number;
}

export class DeliveryRevisions {
  /** By the hook's number, then by the entry's name. */
  readonly #places = new Map<number, Map<string, number>>();
  readonly #free: number[] = [];
  #made = 0;

  /** It was found there. */
  add(number: number, name: DeliveryEntryName, place: number): void {
    this.#made = Math.max(this.#made, place + 1);
    this.#of(number).set(textOf(name), place);
  }

  /** It was found free, or is free now. */
  addFree(place: number): void {
    this.#made = Math.max(this.#made, place + 1);
    this.#free.push(place);
  }

  /** Where it stands, or shall stand from now on. */
  take(number: number, name: DeliveryEntryName): number {
    const known = this.#of(number).get(textOf(name));
    if (known !== undefined) return known;
    const place = this.#free.pop() ?? this.#made++;
    this.#of(number).set(textOf(name), place);
    return place;
  }

  /** Null: it stands nowhere. */
  find(number: number, name: DeliveryEntryName): number | null {
    return this.#places.get(number)?.get(textOf(name)) ?? null;
  }

  all(number: number): number[] {
    return Array.from(this.#places.get(number)?.values() ?? []);
  }

  leave(number: number, name: DeliveryEntryName): void {
    const place = this.find(number, name);
    this.#places.get(number)?.delete(textOf(name));
    if (place !== null) this.#free.push(place);
  }

  leaveAll(number: number): void {
    for (const place of this.all(number)) this.#free.push(place);
    this.#places.delete(number);
  }

  #of(number: number): Map<string, number> {
    const known = this.#places.get(number);
    if (known !== undefined) return known;
    const places = new Map<string, number>();
    this.#places.set(number, places);
    return places;
  }
}

function textOf({ kind, sequence }: DeliveryEntryName): string {
  return `${kind} ${sequence}`;
}
