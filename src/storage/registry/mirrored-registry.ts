/**
 * A node's copy of the shared registry, with this node's own changes. The shared registry orders all changes, and the last change of
 * an entry wins. While a change of this node is not shared, it will be the last one, so changes from others are deferred. Once
 * shared, it has a position, and only changes after that position replace it. Entries from before the node joined a cluster yield to
 * the shared ones. Source: cluster.md, Registry.
 */
import { nextTurn, type Cancel } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type {
  MirroredRegistry,
  RegistryChange,
  SharedPlace,
  SharedRegistryChange,
} from '../../core/ports/mirrored.ts';
import {
  AppliedChanges,
  checkChange,
  type CheckedChange,
  type CheckedSharedChange,
  type UnsharedEntries,
} from './mirrored-rows.ts';
import { kindNames, type KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';
import { mirrorCheckSlice, mirrorEntriesSlice } from '../lmdb/store-limits.ts';

export interface MirroredRegistryDeps {
  readonly tables: RegistryTables;
  readonly log: Log;
  /** Called after each commit of others' changes, to invalidate caches. Never throws. */
  readonly applied: (changes: AppliedChanges) => void;
}

export class MirroredRegistryStore implements MirroredRegistry {
  readonly #tables: RegistryTables;
  readonly #deps: MirroredRegistryDeps;
  readonly #unshared: UnsharedEntries;
  readonly #followers = new Set<{ readonly listener: () => void }>();

  constructor(deps: MirroredRegistryDeps) {
    this.#deps = deps;
    this.#tables = deps.tables;
    this.#unshared = deps.tables.unshared;
  }

  get position(): number {
    return this.#unshared.position;
  }

  /**
   * Starts recording changes made here; the first call also offers all existing entries to the other nodes. Await it at start, before
   * any change of the registry. Rejects when the store refuses.
   */
  async adopt(): Promise<void> {
    if (this.#unshared.isOn) return;
    for (const kind of kindNames) await this.#adoptKind(kind);
    await this.#tables.environment.transaction(() => this.#unshared.turnOn());
  }

  /**
   * Atomic up to `mirrorEntriesSlice` changes; more are applied in order, and the position moves with the last. Invalid entries are
   * skipped and logged.
   */
  async apply(changes: readonly SharedRegistryChange[], position: number): Promise<void> {
    const checked = await this.#checkAll(changes);
    let start = 0;
    do {
      const slice = checked.slice(start, start + mirrorEntriesSlice);
      start += slice.length;
      await this.#commit((applied) => {
        for (const change of slice) this.#applyOne(change, applied);
        if (start === checked.length) this.#moveTo(position);
      });
    } while (start < checked.length);
  }

  unshared(limit: number): readonly { readonly place: number; readonly change: RegistryChange }[] {
    return this.#unshared
      .read(limit)
      .map(({ place, kind, id }) => ({ place, change: { kind, id, row: this.#tables.findRow(kind, id) } }));
  }

  async shared(places: readonly SharedPlace[]): Promise<void> {
    for (let start = 0; start < places.length; start += mirrorEntriesSlice)
      await this.#commit((applied) => {
        for (const place of places.slice(start, start + mirrorEntriesSlice)) this.#shareOne(place, applied);
      });
  }

  follow(listener: () => void): Cancel {
    const follower = { listener };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** Call after every change made here. Errors of followers are logged. */
  changed(): void {
    for (const { listener } of Array.from(this.#followers))
      try {
        listener();
      } catch (error) {
        this.#deps.log.error({ err: error }, 'registry: a follower of its changes failed');
      }
  }

  async #adoptKind(kind: KindName): Promise<void> {
    let ids = this.#tables.ids(kind, mirrorEntriesSlice);
    while (ids.length > 0) {
      const slice = ids;
      await this.#tables.environment.transaction(() => {
        for (const id of slice) this.#unshared.recordChange(kind, id, true);
      });
      ids = this.#tables.ids(kind, mirrorEntriesSlice, slice.at(-1));
    }
  }

  async #checkAll(changes: readonly SharedRegistryChange[]): Promise<CheckedSharedChange[]> {
    const good: CheckedSharedChange[] = [];
    for (const [at, change] of changes.entries()) {
      const checked = checkChange(change);
      if (checked.ok) good.push({ ...checked.value, position: change.position });
      else this.#deps.log.error({ fault: checked.error }, 'shared registry: invalid entry skipped');
      if (at % mirrorCheckSlice === mirrorCheckSlice - 1) await nextTurn();
    }
    return good;
  }

  async #commit(act: (applied: AppliedChanges) => void): Promise<void> {
    const applied = new AppliedChanges();
    await this.#tables.environment.transaction(() => act(applied));
    this.#tables.environment.refresh();
    if (applied.count > 0) this.#deps.applied(applied);
  }

  #applyOne(change: CheckedSharedChange, applied: AppliedChanges): void {
    const { kind, id, position } = change;
    const own = this.#unshared.find(kind, id);
    if (own !== null) {
      const [, isAdopted, , sharedAt] = own;
      if (sharedAt !== null && position < sharedAt) return;
      if (sharedAt === null && !isAdopted) return this.#unshared.defer(change);
      this.#unshared.remove(kind, id);
    }
    this.#put(change, applied);
  }

  #shareOne({ place, position }: SharedPlace, applied: AppliedChanges): void {
    const found = this.#unshared.findPlace(place);
    if (found === null) return;
    const { kind, id } = found;
    const held = this.#unshared.find(kind, id)?.[2] ?? null;
    if (held === null || held[1] < position) return this.#unshared.awaitReturn(found, position);
    this.#unshared.remove(kind, id);
    this.#put({ kind, id, row: held[0] && Buffer.from(held[0]) }, applied);
  }

  #moveTo(position: number): void {
    if (position < this.#unshared.position) this.#unshared.forgetReturns();
    this.#unshared.moveTo(position);
  }

  #put({ kind, id, row }: CheckedChange, applied: AppliedChanges): void {
    if (this.#tables.putRow(kind, id, row) !== 'unchanged') applied.add(kind, id);
  }
}
