/**
 * The registry that all nodes share, as one of them keeps it in its own tables, and what this node has changed of it.
 * Changes stand in one order for all, that of the shared registry, and of one entry the last counts. What this node
 * changed and has not shared yet will be the last one there, so nothing that comes meanwhile takes its place: that is
 * held. Once this node's change is shared it has its position there, and only what stands behind that takes its place,
 * whatever comes back here first.
 * What was here before the node was one of several gives way to what the others have. Source: cluster.md, Registry.
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
  /** After every commit of what others have changed, for those who keep something of it elsewhere. Never throws. */
  readonly applied: (changes: AppliedChanges) => void;
}

export class MirroredRegistryStore implements MirroredRegistry {
  readonly #tables: RegistryTables;
  readonly #deps: MirroredRegistryDeps;
  readonly #unshared: UnsharedEntries;
  readonly #followers = new Set<{ readonly told: () => void }>();

  constructor(deps: MirroredRegistryDeps) {
    this.#deps = deps;
    this.#tables = deps.tables;
    this.#unshared = deps.tables.unshared;
  }

  get position(): number {
    return this.#unshared.position;
  }

  /**
   * From now on every change made here is noted; the first time, what is here already is offered to the others. To be
   * awaited at start, before anything changes the registry. Rejects when the store refuses.
   */
  async adopt(): Promise<void> {
    if (this.#unshared.isOn) return;
    for (const kind of kindNames) await this.#adoptKind(kind);
    await this.#tables.environment.transaction(() => this.#unshared.turnOn());
  }

  /**
   * All or nothing up to `mirrorEntriesSlice` changes; more are applied in their order, and the position moves with the
   * last. What is no entry is passed over, and logged.
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

  follow(told: () => void): Cancel {
    const follower = { told };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** To be called after every change made here. What a follower throws is logged. */
  changed(): void {
    for (const { told } of Array.from(this.#followers))
      try {
        told();
      } catch (error) {
        this.#deps.log.error({ err: error }, 'who follows the changes of the registry failed');
      }
  }

  async #adoptKind(kind: KindName): Promise<void> {
    let ids = this.#tables.ids(kind, mirrorEntriesSlice);
    while (ids.length > 0) {
      const slice = ids;
      await this.#tables.environment.transaction(() => {
        for (const id of slice) this.#unshared.note(kind, id, true);
      });
      ids = this.#tables.ids(kind, mirrorEntriesSlice, slice.at(-1));
    }
  }

  async #checkAll(changes: readonly SharedRegistryChange[]): Promise<CheckedSharedChange[]> {
    const good: CheckedSharedChange[] = [];
    for (const [at, change] of changes.entries()) {
      const checked = checkChange(change);
      if (checked.ok) good.push({ ...checked.value, position: change.position });
      else this.#deps.log.error({ fault: checked.error }, 'an entry of the shared registry is refused');
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
      if (sharedAt === null && !isAdopted) return this.#unshared.hold(change);
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
    if (this.#tables.putRow(kind, id, row) !== 'unchanged') applied.note(kind, id);
  }
}
