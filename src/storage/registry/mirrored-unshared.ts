/**
 * Which entries of the registry this node has changed and all nodes do not have yet, noted in the transaction that
 * changes them. Nothing is noted in a store that has never been one of several nodes' (`isOn`); one that was goes on
 * noting, whoever writes it: an import's thread, the command line while no server runs, a server that is alone for a
 * while. Of an entry only the newest change counts, so there are never more of them than entries.
 * Source: cluster.md, Registry.
 */
import {
  entryKey,
  placeKey,
  placeOf,
  type SharedStateRow,
  type UnsharedRow,
  type UnsharedTables,
} from './mirrored-rows.ts';
import type { Table } from '../lmdb/environment.ts';
import type { KindName } from './registry-kinds.ts';

export interface UnsharedPlace {
  readonly place: number;
  readonly kind: KindName;
  readonly id: string;
}

export class UnsharedEntries {
  readonly #tables: UnsharedTables;
  #isOn: boolean;

  constructor(tables: UnsharedTables) {
    this.#tables = tables;
    this.#isOn = tables.state.get(stateKey)?.[2] === true;
  }

  /** What an import has put, while it is under way. */
  get seen(): Table<true> {
    return this.#tables.seen;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** The position in the shared registry up to which all is here; 0: nothing. */
  get position(): number {
    return this.#state[0];
  }

  find(kind: KindName, id: string): UnsharedRow | null {
    return this.#tables.entries.get(entryKey(kind, id)) ?? null;
  }

  /** In their order, at most `limit`. */
  read(limit: number): UnsharedPlace[] {
    const places: UnsharedPlace[] = [];
    for (const { key, value } of this.#tables.places.getRange({ limit }))
      places.push({ place: placeOf(key), kind: value[0], id: value[1] });
    return places;
  }

  /** Everything below: inside a transaction of the registry only. `position`: of the shared registry. */
  moveTo(position: number): void {
    const [, lastPlace, isOn] = this.#state;
    void this.#tables.state.put(stateKey, [position, lastPlace, isOn]);
  }

  /** From now on changes are noted. */
  turnOn(): void {
    const [position, lastPlace] = this.#state;
    void this.#tables.state.put(stateKey, [position, lastPlace, true]);
    this.#isOn = true;
  }

  /** An entry was changed here. `isAdopted`: it was there before the node was one of several, and gives way to theirs. */
  note(kind: KindName, id: string, isAdopted = false): void {
    const key = entryKey(kind, id);
    const before = this.#tables.entries.get(key);
    if (before !== undefined) void this.#tables.places.remove(placeKey(before[0]));
    const [position, lastPlace, isOn] = this.#state;
    const place = lastPlace + 1;
    void this.#tables.state.put(stateKey, [position, place, isOn]);
    void this.#tables.places.put(placeKey(place), [kind, id]);
    void this.#tables.entries.put(key, [place, isAdopted, before?.[2] ?? null]);
  }

  /** What all nodes have of it while this node's change is on its way; null: it is gone there. */
  hold(kind: KindName, id: string, theirs: Buffer | null): void {
    const row = this.find(kind, id);
    if (row !== null) void this.#tables.entries.put(entryKey(kind, id), [row[0], row[1], [theirs]]);
  }

  /** Null: it was changed again, or is not unshared. */
  findPlace(place: number): UnsharedPlace | null {
    const value = this.#tables.places.get(placeKey(place));
    return value === undefined ? null : { place, kind: value[0], id: value[1] };
  }

  remove(kind: KindName, id: string): void {
    const row = this.find(kind, id);
    if (row === null) return;
    void this.#tables.places.remove(placeKey(row[0]));
    void this.#tables.entries.remove(entryKey(kind, id));
  }

  get #state(): SharedStateRow {
    return this.#tables.state.get(stateKey) ?? [0, 0, false];
  }
}

const stateKey = Buffer.from('state');
