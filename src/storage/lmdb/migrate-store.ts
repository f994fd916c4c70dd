/**
 * Opens the files of a store for its only writer, and migrates those of an older format first.
 *
 * All files change in transactions that stand in each other: one that fails, or a process that is killed in any of them,
 * leaves every file as it was. They are committed one by one, the registry's last; a crash between two commits is seen
 * by formats that differ, and the next start migrates what is left. Before that the files are copied into a directory
 * of the store's own, `format-1-to-2`: one copy for each migration, of the moment before it. Source: docs/adr/0023.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { freeBytesOf } from './free-bytes.ts';
import type { Log } from '../../core/ports/log.ts';
import { assert } from '../../lib/assert.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { hasWebhookTables } from '../webhooks/lmdb-delivery-store.ts';
import { Environment } from './environment.ts';
import { firstFormat, type Migration, storeFileNames, storeFormat, StoreOpenError } from './store-format.ts';
import { giveWakeupsIds } from './wakeup-migration.ts';

export interface MigrationReport {
  readonly from: number;
  readonly to: number;
  readonly seconds: number;
  /** The directory of the copy. */
  readonly copy: string;
}

export interface MigrationDeps {
  readonly migrations?: readonly Migration[];
  /** Bytes that the disk of a directory has for us. */
  readonly freeBytes?: (directory: string) => number;
}

export interface MigratedFiles {
  readonly registry: Environment;
  readonly state: Environment;
  /** Null: nothing was to be migrated. */
  readonly report: MigrationReport | null;
}

/** In order: the first takes format 1 to format 2. None is ever removed. */
export const releasedMigrations: readonly Migration[] = [{ state: giveWakeupsIds }];
assert(
  firstFormat + releasedMigrations.length === storeFormat,
  'each format but the first has its migration',
);

const clock = new SystemClock();

const kinds = ['registry', 'webhooks', 'state'] as const;
type FileKind = (typeof kinds)[number];

type OpenFiles = ReadonlyMap<FileKind, Environment>;

/** Rows that change are written anew before the old ones are free: as much again as the files have. */
const roomFactor = 2;

/** The caller has the directory's lock. Throws a StoreOpenError; then nothing is open. */
export function openMigrated(directory: string, deps: MigrationDeps): MigratedFiles {
  const { migrations = releasedMigrations } = deps;
  const wanted = { format: firstFormat + migrations.length, migrating: true };
  const files = new Map<FileKind, Environment>();
  const open = (kind: FileKind): Environment => {
    const file = new Environment(join(directory, storeFileNames[kind]), 'write', wanted);
    files.set(kind, file);
    return file;
  };
  try {
    const opened = { registry: open('registry'), state: open('state') };
    if (Object.values(opened).every(({ format }) => format === wanted.format))
      return { ...opened, report: null };
    const webhooks = hasWebhookTables(directory) ? open('webhooks') : null;
    const report = migrateFiles(directory, files, migrations, deps.freeBytes ?? freeBytesOf);
    void webhooks?.close();
    return { ...opened, report };
  } catch (error) {
    for (const file of files.values()) void file.close();
    throw error;
  }
}

export function logMigration(report: MigrationReport | null, log: Log): void {
  if (report !== null) log.warn({ ...report }, 'store migrated');
}

function migrateFiles(
  directory: string,
  files: OpenFiles,
  migrations: readonly Migration[],
  freeBytes: (directory: string) => number,
): MigrationReport {
  const beganMs = clock.monotonicMs();
  const formats = Array.from(files.values(), ({ format }) => format);
  const [from, to] = [Math.min(...formats), firstFormat + migrations.length];
  const copy = join(directory, `format-${from}-to-${to}`);
  const isResumed = new Set(formats).size > 1 && existsSync(copy);
  if (!isResumed) copyFiles(directory, copy, { from, to, freeBytes });
  const older = kinds.filter((kind) => files.has(kind) && files.get(kind)?.format !== to);
  migrateInside(older, files, migrations);
  return { from, to, seconds: Number(((clock.monotonicMs() - beganMs) / 1000).toFixed(3)), copy };
}

/** The first of the files in a transaction, and the others inside of it. */
function migrateInside(
  [kind, ...others]: readonly FileKind[],
  files: OpenFiles,
  migrations: readonly Migration[],
): void {
  const file = kind === undefined ? undefined : files.get(kind);
  if (kind === undefined || file === undefined) return;
  const ahead = migrations.slice(file.format - firstFormat);
  file.migrate(firstFormat + migrations.length, () => {
    for (const migration of ahead) migration[kind]?.(file);
    migrateInside(others, files, migrations);
  });
}

interface CopyTerms {
  readonly from: number;
  readonly to: number;
  readonly freeBytes: (directory: string) => number;
}

/** Whole or not at all: under its name once the disk has it, in place of one of an earlier try. */
function copyFiles(directory: string, copy: string, { from, to, freeBytes }: CopyTerms): void {
  const names = kinds.map((kind) => storeFileNames[kind]).filter((name) => existsSync(join(directory, name)));
  const partial = `${copy}.partial`;
  rmSync(partial, { recursive: true, force: true });
  const needed = roomFactor * names.reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  const free = freeBytes(directory);
  if (free < needed)
    throw new StoreOpenError(
      `the store in ${directory} has format ${from}, and its migration to format ${to} begins with a copy in ${copy}: ` +
        `that takes ${needed} bytes and the disk has ${free}; free some and start again`,
    );
  mkdirSync(partial, { mode: 0o700 });
  for (const name of names) {
    copyFileSync(join(directory, name), join(partial, name), constants.COPYFILE_FICLONE);
    flush(join(partial, name), 'r+');
  }
  rmSync(copy, { recursive: true, force: true });
  renameSync(partial, copy);
  if (process.platform !== 'win32') flush(directory, 'r');
}

function flush(path: string, flags: string): void {
  const file = openSync(path, flags);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
