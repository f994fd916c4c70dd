/** The tables beside the registry's own by which a node shares it with others. Source: cluster.md, Registry. */
import type { Environment, Table } from '../lmdb/environment.ts';
import { eventKey as placeKey, sequenceOf as placeOf } from '../events/event-rows.ts';
import type { KindName } from './registry-kinds.ts';

/** `held`: what all nodes have of the entry, in a list of one; null: nothing came yet. Add at the end only. */
export type UnsharedRow = readonly [
  place: number,
  isAdopted: boolean,
  held: readonly [Uint8Array | null] | null,
];

export interface UnsharedTables {
  /** By place: eight bytes, most significant first. */
  readonly places: Table<readonly [kind: KindName, id: string]>;
  readonly entries: Table<UnsharedRow>;
  /** One row. */
  readonly state: Table<SharedStateRow>;
  /** What an import has put, by the keys of `entries`, while it is under way. */
  readonly seen: Table<true>;
}

/** `lastPlace`: the newest that was ever given. Add at the end only. */
export type SharedStateRow = readonly [position: number, lastPlace: number, isOn: boolean];

/** Null: the store is looked on and was last written by a release that had no nodes. */
export function findUnsharedTables(environment: Environment): UnsharedTables | null {
  const state = environment.findTable<SharedStateRow>('registry-shared');
  const places = environment.findTable<readonly [KindName, string]>('registry-unshared');
  const entries = environment.findTable<UnsharedRow>('registry-unshared-entries');
  const seen = environment.findTable<true>('registry-import-seen');
  if (state === null || places === null || entries === null || seen === null) return null;
  return { state, places, entries, seen };
}

/** No kind has a line feed in its name. */
export function entryKey(kind: KindName, id: string): Buffer {
  return Buffer.from(`${kind}\n${id}`);
}

export { placeKey, placeOf };
