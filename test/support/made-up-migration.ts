/** A store of this release's format with a row in each of its files, and a made-up migration of it to the next. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Environment } from '../../src/storage/lmdb/environment.ts';
import { openStore } from '../../src/storage/lmdb/open-store.ts';
import { releasedMigrations } from '../../src/storage/lmdb/migrate-store.ts';
import { type MigratedFile, type Migration, storeFormat } from '../../src/storage/lmdb/store-format.ts';
import { WebhookTables } from '../../src/storage/webhooks/lmdb-delivery-store.ts';

const files = ['registry', 'webhooks', 'state'] as const;
export type MigratedKind = (typeof files)[number];

/** Of the old store, and of one that is migrated. */
export const [oldFormat, newFormat] = [storeFormat, storeFormat + 1];
export const copyName = `format-${oldFormat}-to-${newFormat}`;

/** Those of this release, and then these. */
export function migrationsWith(...made: Migration[]): readonly Migration[] {
  return [...releasedMigrations, ...made];
}

const [tableName, key] = ['made-up', Buffer.from('row')];

/** In the order in which they change; the last is committed first. */
export const migratedKinds: readonly MigratedKind[] = files;

/** Every row is told how often it was migrated. `before` is called in the transaction of a file, before its row changes. */
export function madeUpMigration(before: (kind: MigratedKind) => void = () => undefined): Required<Migration> {
  const change =
    (kind: MigratedKind) =>
    (file: MigratedFile): void => {
      before(kind);
      const table = file.table<readonly [string, number]>(tableName);
      const [name = '', times = 0] = table.get(key) ?? [];
      void table.put(key, [name, times + 1]);
      before(kind);
    };
  return { registry: change('registry'), webhooks: change('webhooks'), state: change('state') };
}

/** Writes the store and closes it. */
export async function writeOldStore(directory: string): Promise<void> {
  const store = openStore(directory);
  const webhooks = new WebhookTables(store.directory, 'write');
  const environments = {
    registry: store.registry.environment,
    webhooks: webhooks.environment,
    state: store.state.environment,
  };
  for (const kind of files) {
    const table = environments[kind].table<readonly [string, number]>(tableName);
    await environments[kind].transaction(() => void table.put(key, [kind, 0]));
  }
  await Promise.all([webhooks.environment.close(), store.close()]);
}

export interface SeenFile {
  readonly format: number;
  readonly row: unknown;
}

/** What the files of a directory hold, whatever their format up to the new one. */
export async function seeFiles(directory: string): Promise<Partial<Record<MigratedKind, SeenFile>>> {
  const seen: Partial<Record<MigratedKind, SeenFile>> = {};
  for (const kind of files) {
    const path = join(directory, `${kind}.mdb`);
    if (!existsSync(path)) continue;
    const file = new Environment(path, 'read-only', { format: newFormat, migrating: true });
    seen[kind] = { format: file.format, row: file.table(tableName).get(key) };
    await file.close();
  }
  return seen;
}

export function everyFile(format: number, times: number): Record<MigratedKind, SeenFile> {
  const seen = (kind: MigratedKind): SeenFile => ({ format, row: [kind, times] });
  return { registry: seen('registry'), webhooks: seen('webhooks'), state: seen('state') };
}
