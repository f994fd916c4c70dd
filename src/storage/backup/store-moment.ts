/**
 * One moment of a store: what its files hold together between two commits, while other threads of this process, which holds
 * the directory, write them. LMDB has no transaction over several files, so a reading transaction of each is begun, and begun again if
 * any file had a commit meanwhile.
 *
 * Who holds it keeps every page of that moment from being written again: the files grow with what is written meanwhile.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { nextTurn } from '../../lib/clock.ts';
import { environmentOptions } from '../lmdb/environment.ts';
import { openingStore } from '../lmdb/open-store.ts';
import { storeFileNames, storeFormatName, StoreOpenError } from '../lmdb/store-format.ts';
import { momentTriesMax } from '../lmdb/store-limits.ts';
import type { BackupRow } from './backup-reader.ts';

type FileKind = keyof typeof storeFileNames;
type Rows = Database<Buffer, Buffer>;

export interface MomentTable {
  readonly file: FileKind;
  readonly name: string;
  readonly rows: number;
  /** Of the pages that it has. */
  readonly bytes: number;
  /** In the order of their keys. */
  read(): Iterable<BackupRow>;
}

export class StoreMoment {
  readonly tables: readonly MomentTable[];
  readonly #files: readonly MomentFile[];

  private constructor(files: readonly MomentFile[]) {
    this.#files = files;
    this.tables = files.flatMap((file) => file.tables());
  }

  /** `directory`: of a store that this process has open. Rejects with a StoreOpenError: it never stands still for long enough. */
  static async take(directory: string): Promise<StoreMoment> {
    const files = openingStore(directory, () => openFiles(directory));
    try {
      for (let tries = 0; tries < momentTriesMax; tries++) {
        if (beginTogether(files)) return new StoreMoment(files);
        await nextTurn();
      }
      throw new StoreOpenError(
        `the store in ${directory} is written all the time, and no moment of it could be read: try again`,
      );
    } catch (error) {
      await closeAll(files);
      throw error;
    }
  }

  /** Reading is over. */
  async close(): Promise<void> {
    for (const file of this.#files) file.end();
    await closeAll(this.#files);
  }
}

/** False: one of them was written meanwhile, and no transaction is left. */
function beginTogether(files: readonly MomentFile[]): boolean {
  const before = files.map((file) => file.newestCommit);
  for (const file of files) file.begin();
  const isMoment = files.every((file, i) => file.newestCommit === before[i]);
  if (!isMoment) for (const file of files) file.end();
  return isMoment;
}

function openFiles(directory: string): MomentFile[] {
  const kinds = Object.keys(storeFileNames) as FileKind[];
  const files: MomentFile[] = [];
  try {
    for (const kind of kinds)
      if (existsSync(join(directory, storeFileNames[kind]))) files.push(new MomentFile(directory, kind));
    return files;
  } catch (error) {
    void closeAll(files);
    throw error;
  }
}

async function closeAll(files: readonly MomentFile[]): Promise<void> {
  await Promise.all(files.map((file) => file.close()));
}

class MomentFile {
  readonly #kind: FileKind;
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #tables = new Map<string, Rows>();
  #transaction: ReturnType<RootDatabase['useReadTransaction']> | null = null;

  constructor(directory: string, kind: FileKind) {
    const path = join(directory, storeFileNames[kind]);
    this.#kind = kind;
    // Not read-only: a thread that writes may open the file next, and shares this environment.
    this.#root = open<Buffer, Buffer>({ ...environmentOptions, encoding: 'binary', path });
    // The package ends the name of a table with a zero byte.
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

  /** In the turn of `begin`: counts are those of its transaction. */
  tables(): MomentTable[] {
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

/** What the package has beside its types. */
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
