/**
 * The references of an import: what its entries refer to must be in the store when the import ends, from this file or
 * from before; a file may name its entries in any order. A reference that exists is forgotten at once, one that does
 * not yet exist waits, with the first entry that made it, until the end.
 */
import type { KindName, EntryOf } from './registry-kinds.ts';
import type { Place } from './registry-text.ts';
import { referencesAheadMax, referencesKnownMax } from '../lmdb/store-limits.ts';

type ReferredKind = 'application' | 'product';

/** The entry that refers: for the message, should it come to that. */
export interface Referrer {
  readonly kind: KindName;
  readonly id: string;
  readonly where: Place;
}

export interface BrokenReference {
  readonly referrer: Referrer;
  readonly field: string;
  readonly reason: string;
}

interface Reference {
  readonly kind: ReferredKind;
  readonly id: string;
  readonly field: string;
}

export class ImportReferences {
  readonly #exists: (kind: ReferredKind, id: string) => boolean;
  readonly #known = { application: new Set<string>(), product: new Set<string>() };
  readonly #ahead = new Map<string, Reference & { readonly referrer: Referrer }>();

  constructor(exists: (kind: ReferredKind, id: string) => boolean) {
    this.#exists = exists;
  }

  /** False: too many entries came before what they refer to. */
  note<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind], id: string, where: Place): boolean {
    for (const reference of referencesOf(kind, entry)) {
      if (this.#isKnown(reference)) continue;
      const key = `${reference.kind}\n${reference.id}`;
      if (!this.#ahead.has(key)) this.#ahead.set(key, { ...reference, referrer: { kind, id, where } });
    }
    return this.#ahead.size <= referencesAheadMax;
  }

  /** At the end: the first reference to what is not there, or null. */
  findBroken(): BrokenReference | null {
    for (const { kind, id, field, referrer } of this.#ahead.values())
      if (!this.#exists(kind, id))
        return { referrer, field, reason: `${kind} ${JSON.stringify(id)} does not exist` };
    return null;
  }

  #isKnown({ kind, id }: Reference): boolean {
    const known = this.#known[kind];
    if (known.has(id)) return true;
    if (!this.#exists(kind, id)) return false;
    if (known.size >= referencesKnownMax) known.clear();
    known.add(id);
    return true;
  }
}

/** What an entry refers to, and in which field. */
export function referencesOf<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): readonly Reference[] {
  return referenceReaders[kind](entry);
}

const applicationsIn = (appIds: readonly string[]): Reference[] =>
  appIds.map((id) => ({ kind: 'application', id, field: 'app_ids' }));

const referenceReaders: { readonly [Kind in KindName]: (entry: EntryOf[Kind]) => readonly Reference[] } = {
  application: () => [],
  product: ({ appIds }) => applicationsIn(appIds),
  credential: ({ appId }) => [{ kind: 'application', id: appId, field: 'app_id' }],
  device: ({ productId }) => [{ kind: 'product', id: productId, field: 'product_id' }],
  webhook: ({ appId }) => [{ kind: 'application', id: appId, field: 'app_id' }],
  bridge: ({ appIds }) => applicationsIn(appIds),
};
