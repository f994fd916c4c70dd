/**
 * One LMDB file. Reads are synchronous and take microseconds, from the memory map. Writes go to a writer thread in batches; when
 * their promise resolves they are visible and survive `kill -9`, and the disk follows within a second (`overlappingSync`).
 *
 * Keys are the bytes of the ids, because a device id is any UTF-8 and is compared byte by byte. Values are msgpack arrays.
 * `eventTurnBatching` is off: with it, lmdb keeps an unhandled promise of its own, and a full disk would end the process. A
 * synchronous write blocks its thread while another thread writes: it is for worker threads and for an idle store.
 *
 * Only one process may open a file, with any number of its threads: in lmdb 3.5.6 a second process, even read-only, can roll back a
 * commit.
 *
 * LMDB trusts the pages that it maps. A damaged page makes a read throw, which is reported (`onFault`). It can also leave the lmdb
 * package with a transaction that can neither commit nor abort, which would end the process; so each transaction checks for that at
 * its end, while it can still be aborted.
 */
import { dirname } from 'node:path';
import { open, type Database, type RootDatabase } from 'lmdb';
import { Packr } from 'msgpackr';
import { transactionBegins, transactionEnds } from './abrupt-exit.ts';
import { checkMapRoom } from './map-room.ts';
import { PanicWatch } from './panic-watch.ts';
import { isDamage } from './store-fault.ts';
import { storeFormat, StoreFormatError, storeFormatName } from './store-format.ts';
import { watchReads } from './watched-reads.ts';

export type Table<Row> = Database<Row, Buffer>;

const formatKey = Buffer.from(storeFormatName);

export const environmentOptions = {
  keyEncoding: 'binary',
  maxDbs: 32,
  eventTurnBatching: false,
  // Mode of the files; missing in lmdb's types.
  permissionsMode: 0o600,
} as const;

/** Members that the package's types lack. */
interface Inside {
  readonly env: { info(): { readonly mapSize: number; readonly lastPageNumber: number } };
}

const pageBytes = 4096;

/** Detects when a transaction becomes visible. */
export interface VisibilityWatch {
  /** Reads a row that the transaction puts. Never throws. */
  isVisible(): boolean;
  /** Called at most once. Never throws. */
  onVisible(): void;
}

export class Environment {
  readonly #root: RootDatabase<unknown, Buffer>;
  readonly path: string;
  /** Transactions under way. The file closes after them: the package would throw an uncaught error otherwise. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #panic: PanicWatch;
  #onFault: (error: unknown) => void = () => undefined;
  /** The latest commit failed: closing would wait forever for its flush. */
  #hasFailed = false;
  /** No reads from now on: the package would reset a transaction that is gone. */
  #isClosing = false;

  /**
   * Creates the file if needed, and writes its format into a new one. Throws a StoreFormatError for a format of another release, and
   * LMDB's errors.
   */
  constructor(path: string) {
    this.path = path;
    this.#root = open({ ...environmentOptions, path });
    this.#panic = new PanicWatch(this.#root, {
      path,
      probe: () => void this.#format,
      onPanic: (error) => this.#onFault(error),
    });
    const found = this.transactionSync(() => this.#ensureFormat());
    if (found === storeFormat) return;
    void this.close();
    throw new StoreFormatError(dirname(path), found);
  }

  /** Size of the memory map; the package enlarges it before the file reaches its end. */
  get mapBytes(): number {
    return (this.#root.getStats() as { mapSize: number }).mapSize;
  }

  /** `listener` receives each damaged page or row that a read meets, and LMDB's panic once. One listener; must not throw. */
  onFault(listener: (error: unknown) => void): void {
    this.#onFault = listener;
  }

  /** Call every `mapCheckEntries` entries of a large transaction. Throws a MapFullError when the map cannot grow. */
  checkRoom(): void {
    checkMapRoom({ mapBytes: this.mapBytes, usedBytes: null });
  }

  get directory(): string {
    return dirname(this.path);
  }

  get #format(): number | null {
    return (this.#root.get(formatKey) as number | undefined) ?? null;
  }

  /** A file is new if it has neither a format number nor tables. */
  #ensureFormat(): number | null {
    if (this.#format === null && countEntries(this.#root) === 0) void this.#root.put(formatKey, storeFormat);
    return this.#format;
  }

  table<Row>(name: string): Table<Row> {
    const encoder = new Packr({ useRecords: false });
    const options = { name, keyEncoding: 'binary', encoder } as const;
    const table = this.#root.openDB<Row, Buffer>(options);
    watchReads(table, (error) => this.#readFailed(error));
    return table;
  }

  /**
   * Runs `act` with exclusive write access among all threads. It never blocks the loop while it waits for its turn; other writers
   * wait for the loop. Puts and removes of `act` are committed together; when it throws or the promise rejects, nothing has changed.
   * Resolves once the disk has them. `watch` is notified before that, in the first turn of the loop in which they are visible and
   * survive `kill -9`. `act` runs once. Rejects once the file is being closed.
   */
  async transaction<Result>(act: () => Result, watch: VisibilityWatch | null = null): Promise<Result> {
    // A transaction that begins in a closed file would end the process.
    if (this.#isClosing) throw new Error(`${this.path} is closed: nothing can be written to it any more`);
    return this.#tracked(this.#transact(act, watch));
  }

  /** Returns, and reports as damage, the error of a read with an impossible result. */
  damaged(fault: string): Error {
    const error = new Error(`${this.path}: ${fault}`);
    this.#onFault(error);
    return error;
  }

  /** Without `refresh`, all later reads of this turn would fail, too. */
  #readFailed(error: unknown): void {
    if (this.#isClosing) return;
    this.refresh();
    this.#panic.found(error);
    if (isDamage(error)) this.#onFault(error);
  }

  async #transact<Result>(act: () => Result, watch: VisibilityWatch | null): Promise<Result> {
    this.#panic.check();
    this.#checkMap();
    let polling: Polling | null = null;
    let hasActed = false;
    const commit = this.#root.childTransaction(() => {
      const result = this.#checked(act);
      hasActed = true;
      if (watch !== null) polling = this.#pollVisibility(watch);
      return result;
    });
    try {
      const result = await this.#panic.awaitCommit(commit);
      this.#hasFailed = false;
      return result;
    } catch (error) {
      this.#hasFailed = hasActed;
      throw error;
    } finally {
      stopPolling(polling);
    }
  }

  /** An unreferenced immediate runs in each turn of the loop, and causes none. */
  #pollVisibility(watch: VisibilityWatch): Polling {
    const poll = (): void => {
      if (this.#isClosing) return;
      this.refresh();
      if (watch.isVisible()) watch.onVisible();
      else polling.immediate = setImmediate(poll).unref();
    };
    const polling = { immediate: setImmediate(poll).unref() };
    return polling;
  }

  async #tracked<Result>(commit: Promise<Result>): Promise<Result> {
    this.#underWay.add(commit);
    transactionBegins();
    try {
      return await commit;
    } finally {
      transactionEnds();
      this.#underWay.delete(commit);
    }
  }

  /** Blocks this thread until the commit is on disk. When `act` throws, nothing has changed. */
  transactionSync<Result>(act: () => Result): Result {
    this.refresh();
    this.#panic.check();
    this.#checkMap();
    return this.#root.transactionSync(() => this.#checked(act));
  }

  #checked<Result>(act: () => Result): Result {
    const result = act();
    // Throws if a put of `act` has failed.
    void this.#format;
    return result;
  }

  #checkMap(): void {
    const { mapSize, lastPageNumber } = (this.#root as unknown as Inside).env.info();
    checkMapRoom({ mapBytes: mapSize, usedBytes: (lastPageNumber + 1) * pageBytes });
  }

  /** All reads in `act` and in its iterable see one snapshot of the store. */
  *snapshot<Item>(act: (options: SnapshotOptions) => Iterable<Item>): Generator<Item, void, undefined> {
    const transaction = this.#root.useReadTransaction();
    try {
      yield* act({ transaction });
    } finally {
      transaction.done();
    }
  }

  /** Makes commits of other threads visible to reads of this turn. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  /** Waits for pending writes and the disk. After a failed flush or an LMDB panic, the file stays open until the process ends. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#underWay);
    const closed = this.#root.close();
    if (!this.#hasFailed && !this.#panic.hasPanicked) await closed;
  }
}

interface Polling {
  immediate: NodeJS.Immediate;
}

function stopPolling(polling: Polling | null): void {
  if (polling !== null) clearImmediate(polling.immediate);
}

export type SnapshotOptions = { readonly transaction: ReturnType<RootDatabase['useReadTransaction']> };

/** Number of entries in a table, from the tree's own count, without a scan. */
export function countEntries(table: Table<unknown>): number {
  return (table.getStats() as { entryCount: number }).entryCount;
}
