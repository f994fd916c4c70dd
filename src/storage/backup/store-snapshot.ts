/**
 * A consistent snapshot of all files of a store between two commits, while other threads of this process write them. LMDB has no
 * transaction over several files, so one read transaction is begun for each file, and begun again if a file had a commit in between.
 *
 * An open snapshot keeps its pages from being reused, so the files grow with each write until it is closed.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { nextTurn } from '../../lib/clock.ts';
import { environmentOptions } from '../lmdb/environment.ts';
import { openingStore } from '../lmdb/open-store.ts';
import { storeFileNames, storeFormatName, StoreOpenError } from '../lmdb/store-format.ts';
import { snapshotTriesMax } from '../lmdb/store-limits.ts';
import type { BackupRow } from './backup-format.ts';

type FileKind = keyof typeof storeFileNames;
type Rows = Database<Buffer, Buffer>;

export interface SnapshotTable {
  readonly file: FileKind;
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  read(): Iterable<BackupRow>;
}

export class StoreSnapshot {
  readonly tables: readonly SnapshotTable[];
  readonly #files: readonly SnapshotFile[];

  private constructor(files: readonly SnapshotFile[]) {
    this.#files = files;
    this.tables = files.flatMap((file) => file.tables());
  }

  /** `directory`: of a store that this process has open. Rejects with a StoreOpenError when continuous writes prevent a snapshot. */
  static async open(directory: string): Promise<StoreSnapshot> {
    const files = openingStore(directory, () => openFiles(directory));
    try {
      for (let tries = 0; tries < snapshotTriesMax; tries++) {
        if (beginTogether(files)) return new StoreSnapshot(files);
        await nextTurn();
      }
      throw new StoreOpenError(
        `the store in ${directory} is written all the time: no consistent snapshot of it could be read; try again`,
      );
    } catch (error) {
      await closeAll(files);
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const file of this.#files) file.end();
    await closeAll(this.#files);
  }
}

/** False: a commit came in between, and no transaction is left open. */
function beginTogether(files: readonly SnapshotFile[]): boolean {
  const before = files.map((file) => file.newestCommit);
  for (const file of files) file.begin();
  const isMoment = files.every((file, i) => file.newestCommit === before[i]);
  if (!isMoment) for (const file of files) file.end();
  return isMoment;
}

function openFiles(directory: string): SnapshotFile[] {
  const kinds = Object.keys(storeFileNames) as FileKind[];
  const files: SnapshotFile[] = [];
  try {
    for (const kind of kinds)
      if (existsSync(join(directory, storeFileNames[kind]))) files.push(new SnapshotFile(directory, kind));
    return files;
  } catch (error) {
    void closeAll(files);
    throw error;
  }
}

async function closeAll(files: readonly SnapshotFile[]): Promise<void> {
  await Promise.all(files.map((file) => file.close()));
}

class SnapshotFile {
  readonly #kind: FileKind;
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #tables = new Map<string, Rows>();
  #transaction: ReturnType<RootDatabase['useReadTransaction']> | null = null;

  constructor(directory: string, kind: FileKind) {
    const path = join(directory, storeFileNames[kind]);
    this.#kind = kind;
    // Not read-only: a writing thread may open the file next, and shares this environment.
    this.#root = open<Buffer, Buffer>({ ...environmentOptions, encoding: 'binary', path });
    // The lmdb package appends a zero byte to the name of a table.
    const names = Array.from(this.#root.getKeys(), (key) => key.toString().replace(/\0$/, ''));
    for (const name of names.filter((key) => key !== storeFormatName))
      this.#tables.set(name, this.#root.openDB({ name, keyEncoding: 'binary', encoding: 'binary' }));
  }

  get newestCommit(): number {
    return (this.#root as unknown as Inside).env.info().lastTxnId;
  }

  begin(): void {
    this.#root.resetReadTxn();
    this.#transaction = this.#root.useReadTransaction();
  }

  end(): void {
    this.#transaction?.done();
    this.#transaction = null;
  }

  /** Call in the same turn as `begin`: counts are those of its transaction. */
  tables(): SnapshotTable[] {
    return Array.from(this.#tables, ([name, table]) => {
      const stats = table.getStats() as TableStats;
      const pages = stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages;
      const read = (): Iterable<BackupRow> => this.#read(table);
      return { file: this.#kind, name, rows: stats.entryCount, bytes: pages * stats.pageSize, read };
    });
  }

  async close(): Promise<void> {
    await this.#root.close();
  }

  #read(table: Rows): Iterable<BackupRow> {
    const transaction = this.#transaction;
    return table.getRange(transaction === null ? {} : { transaction });
  }
}

/** Members that the package's types lack. */
interface Inside {
  readonly env: { info(): { readonly lastTxnId: number } };
}

interface TableStats {
  readonly entryCount: number;
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}
