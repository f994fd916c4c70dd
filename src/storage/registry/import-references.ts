/**
 * Checks the references of an import: each must exist when the import ends, in this file or in the store; a file may list its entries
 * in any order. A reference that exists is dropped at once; others wait until the end, each with the first entry that made it.
 */
import type { KindName, EntryOf } from './registry-kinds.ts';
import type { Place } from './registry-text.ts';
import { referencesAheadMax, referencesKnownMax } from '../lmdb/store-limits.ts';

type ReferredKind = 'application' | 'product';

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

  /** Adds the references of an entry. False: too many of them do not exist yet. */
  add<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind], id: string, where: Place): boolean {
    for (const reference of referencesOf(kind, entry)) {
      if (this.#isKnown(reference)) continue;
      const key = `${reference.kind}\n${reference.id}`;
      if (!this.#ahead.has(key)) this.#ahead.set(key, { ...reference, referrer: { kind, id, where } });
    }
    return this.#ahead.size <= referencesAheadMax;
  }

  /** Call at the end: the first reference that does not exist; null: all exist. */
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
