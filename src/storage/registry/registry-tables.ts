/**
 * `registry.mdb`: one table per kind of entry. It is a file of its own because LMDB has one writer per file: an import that writes
 * for seconds must not delay connection records.
 */
import { join } from 'node:path';
import { asBinary } from 'lmdb';
import type { AccessKeyId, ApplicationId, ProductId } from '../../model/ids.ts';
import { Environment, type SnapshotOptions, type Table } from '../lmdb/environment.ts';
import { packEntry, UnsharedEntries } from './mirrored-rows.ts';
import { RegistryNotices } from './registry-notices.ts';
import {
  decodeRow,
  idOf,
  kindNames,
  listNames,
  type EntryOf,
  type KindName,
  type Row,
} from './registry-kinds.ts';
import { storeFileNames } from '../lmdb/store-format.ts';
import { unpackOwn } from '../../lib/plain-msgpack.ts';

export interface ImportedFile {
  readonly path: string;
  readonly sha256: string;
}

/** Effect of a put or remove; a removed entry counts as `changed`. */
type EntryChange = 'added' | 'changed' | 'unchanged';

type KindTables = { readonly [Kind in KindName]: Table<Row> };

export class RegistryTables {
  readonly environment: Environment;
  readonly kinds: KindTables;
  readonly unshared: UnsharedEntries;
  readonly notices: RegistryNotices;
  #credentialsChanged: AccessKeyId[] = [];
  readonly #imported: Table<readonly ImportedFile[]>;
  readonly #deviceCounts: DeviceCounts;

  constructor(directory: string, environment = new Environment(join(directory, storeFileNames.registry))) {
    this.environment = environment;
    const tablesByKind = kindNames.map((kind) => [kind, this.environment.table<Row>(listNames[kind])]);
    this.kinds = Object.fromEntries(tablesByKind) as KindTables;
    this.#imported = this.environment.table('imports');
    this.unshared = new UnsharedEntries(environment);
    this.notices = new RegistryNotices(environment);
    this.#deviceCounts = new DeviceCounts(environment);
  }

  find<Kind extends KindName>(kind: Kind, id: string): EntryOf[Kind] | null {
    const row = this.kinds[kind].get(Buffer.from(id));
    return row === undefined ? null : decodeRow(kind, id, row);
  }

  has(kind: KindName, id: string): boolean {
    return this.kinds[kind].getBinaryFast(Buffer.from(id)) !== undefined;
  }

  /** Inside a transaction of the environment only. Records a change for the other nodes, if there are any. */
  put<Kind extends KindName>(kind: Kind, entry: EntryOf[Kind]): { id: string; change: EntryChange } {
    const id = idOf(kind, entry);
    const change = this.putRow(kind, id, packEntry(kind, entry));
    if (change !== 'unchanged' && this.unshared.isOn) this.unshared.recordChange(kind, id);
    return { id, change };
  }

  /** Returns the credentials changed by this thread since the last call. */
  drainChangedCredentials(): readonly AccessKeyId[] {
    const changed = this.#credentialsChanged;
    this.#credentialsChanged = [];
    return changed;
  }

  /** Inside a transaction of the environment only. */
  remove(kind: KindName, id: string): void {
    if (this.putRow(kind, id, null) !== 'unchanged' && this.unshared.isOn)
      this.unshared.recordChange(kind, id);
  }

  /** The stored bytes of an entry, copied. */
  findRow(kind: KindName, id: string): Buffer | null {
    return this.kinds[kind].getBinary(Buffer.from(id)) ?? null;
  }

  /** Inside a transaction of the environment only. `row` null: removes the entry. */
  putRow(kind: KindName, id: string, row: Buffer | null): EntryChange {
    const [key, stored] = [Buffer.from(id), this.findRow(kind, id)];
    if (row === null ? stored === null : stored?.equals(row) === true) return 'unchanged';
    const table: Table<unknown> = this.kinds[kind];
    void (row === null ? table.remove(key) : table.put(key, asBinary(row)));
    if (kind === 'device') this.#deviceCounts.changed(stored, row);
    if (kind === 'credential') this.#credentialsChanged.push(id as AccessKeyId);
    return stored === null ? 'added' : 'changed';
  }

  countDevices(appId: ApplicationId): number {
    let count = 0;
    for (const { productId, appIds } of this.entries('product'))
      if (appIds.includes(appId)) count += this.#deviceCounts.of(productId);
    return count;
  }

  /** Ordered by the bytes of the ids, after `after` or from `from`, at most `limit`. */
  *entries<Kind extends KindName>(
    kind: Kind,
    range: {
      readonly after?: string;
      readonly from?: string;
      readonly limit?: number;
    } & Partial<SnapshotOptions> = {},
  ): Generator<EntryOf[Kind], void, undefined> {
    const { after, from, ...options } = range;
    const behind = after === undefined ? {} : { start: Buffer.from(after), exclusiveStart: true };
    const start = from === undefined ? behind : { start: Buffer.from(from) };
    for (const { key, value } of this.kinds[kind].getRange({ ...options, ...start }))
      yield decodeRow(kind, key.toString(), value);
  }

  /** At most `limit` ids after `after`, ordered by their bytes. */
  ids(kind: KindName, limit: number, after?: string): string[] {
    const start = after === undefined ? {} : { start: Buffer.from(after), exclusiveStart: true };
    return Array.from(this.kinds[kind].getKeys({ ...start, limit }), (key) => key.toString());
  }

  get imported(): readonly ImportedFile[] {
    return this.#imported.get(importedKey) ?? [];
  }

  /** Inside a transaction of the environment only. */
  putImported(files: readonly ImportedFile[]): void {
    void this.#imported.put(importedKey, files);
  }
}

const importedKey = Buffer.from('files');

/** Number of devices of each product, updated in the transaction of every change, so that a limit need not count them. */
class DeviceCounts {
  readonly #byProduct: Table<number>;

  constructor(environment: Environment) {
    this.#byProduct = environment.table('registry-device-counts');
  }

  of(productId: ProductId): number {
    return this.#byProduct.get(Buffer.from(productId)) ?? 0;
  }

  /** Inside a transaction of the registry only. Null: no such device. */
  changed(before: Buffer | null, after: Buffer | null): void {
    const [from, to] = [productOf(before), productOf(after)];
    if (from === to) return;
    if (from !== null) this.#add(from, -1);
    if (to !== null) this.#add(to, 1);
  }

  #add(productId: string, change: number): void {
    const key = Buffer.from(productId);
    const count = (this.#byProduct.get(key) ?? 0) + change;
    void (count > 0 ? this.#byProduct.put(key, count) : this.#byProduct.remove(key));
  }
}

function productOf(row: Buffer | null): string | null {
  return row === null ? null : String((unpackOwn(row) as Row)[0]);
}
