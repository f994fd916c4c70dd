/**
 * One LMDB file. Reads are synchronous, microseconds, from the memory map; writes go in batches to a writer
 * thread and are committed, visible and proof against `kill -9` when their promise resolves; the disk follows
 * within a second (`overlappingSync`).
 *
 * Choices: keys are the bytes of the ids themselves, because a device id is any UTF-8 and compared byte for
 * byte. Values are msgpack arrays. `eventTurnBatching` is off: with it on, lmdb keeps a promise of its own that
 * nobody holds, and a full disk would end the process with an unhandled rejection. A synchronous write blocks
 * its thread for as long as anybody else writes: it is for worker threads and for a store at rest.
 *
 * One process has a file open, by as many of its threads as need it: in lmdb 3.5.6 another process that opens it, read-only
 * too, can roll back a commit.
 *
 * LMDB trusts the pages that it maps. A page that it cannot follow makes a read throw, which is told (`onFault`), and makes a
 * transaction of the package one that can neither be committed nor given up, which would end the process: each looks for that
 * at its end, while it can still be given up.
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
  // Of the files; missing in lmdb's types.
  permissionsMode: 0o600,
} as const;

/** What the package has beside its types. */
interface Inside {
  readonly env: { info(): { readonly mapSize: number; readonly lastPageNumber: number } };
}

/** Of a file, by default of the package. */
const pageBytes = 4096;

/** Who wants to know when a transaction can be seen, and by what. */
export interface Sight {
  /** Reads something that it puts. Never throws. */
  isVisible(): boolean;
  /** Called once at most. Never throws. */
  seen(): void;
}

export class Environment {
  readonly #root: RootDatabase<unknown, Buffer>;
  readonly #path: string;
  /** Transactions: told of one that ends when the file is closed, the package would throw where nobody catches. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #panic: PanicWatch;
  #onFault: (error: unknown) => void = () => undefined;
  /** The latest commit: the package waits for its flush at the end, which never comes. */
  #hasFailed = false;
  /** Nothing may be read any more: the package would reset a transaction that is gone. */
  #isClosing = false;

  /**
   * Makes the file where there is none, and notes its format in a new one. Throws a StoreFormatError when
   * it has another format than this release's, and what LMDB throws.
   */
  constructor(path: string) {
    this.#path = path;
    this.#root = open({ ...environmentOptions, path });
    this.#panic = new PanicWatch(this.#root, {
      path,
      look: () => void this.#format,
      told: (error) => this.#onFault(error),
    });
    const found = this.transactionSync(() => this.#noteFormat());
    if (found === storeFormat) return;
    void this.close();
    throw new StoreFormatError(dirname(path), found);
  }

  /** Of the memory map, which the package makes greater before the file reaches it. */
  get mapBytes(): number {
    return (this.#root.getStats() as { mapSize: number }).mapSize;
  }

  /** `told` of each read that meets a damaged page or row, and once of LMDB's panic. One listener at most; must not throw. */
  onFault(told: (error: unknown) => void): void {
    this.#onFault = told;
  }

  get path(): string {
    return this.#path;
  }

  /** In a transaction of many entries, every `mapCheckEntries` of them: throws a MapFullError where there is no room. */
  checkRoom(): void {
    checkMapRoom({ mapBytes: this.mapBytes, usedBytes: null });
  }

  /** In which the file is. */
  get directory(): string {
    return dirname(this.#path);
  }

  /** Null: the file has no number. */
  get #format(): number | null {
    return (this.#root.get(formatKey) as number | undefined) ?? null;
  }

  /** A file is new if it has neither a number nor tables. */
  #noteFormat(): number | null {
    if (this.#format === null && countEntries(this.#root) === 0) void this.#root.put(formatKey, storeFormat);
    return this.#format;
  }

  /** Makes the table where there is none. */
  table<Row>(name: string): Table<Row> {
    const encoder = new Packr({ useRecords: false });
    const options = { name, keyEncoding: 'binary', encoder } as const;
    const table = this.#root.openDB<Row, Buffer>(options);
    watchReads(table, (error) => this.#readFailed(error));
    return table;
  }

  /**
   * Reads and writes with nobody writing in between, in any thread; never blocks the loop while it waits
   * for its turn, but others wait for the loop. Puts and removes of `act` are committed together: when it throws or the
   * promise rejects, nothing has changed. It resolves when the disk has them. `sight` is told before that, in the first
   * turn of the loop in which they are visible, and so proof against `kill -9`: the writer thread wakes the loop then.
   * `act` runs once. Rejects once the file is being closed.
   */
  async transaction<Result>(act: () => Result, sight: Sight | null = null): Promise<Result> {
    // The package would end the process where a transaction begins in a file that is closed by its turn.
    if (this.#isClosing) throw new Error(`${this.#path} is closed: nothing can be written to it any more`);
    return this.#tracked(this.#transact(act, sight));
  }

  /** The error of a read whose answer cannot be right, told as damage. */
  damaged(fault: string): Error {
    const error = new Error(`${this.#path}: ${fault}`);
    this.#onFault(error);
    return error;
  }

  /** The reads that follow in this turn would fail with it. */
  #readFailed(error: unknown): void {
    if (this.#isClosing) return;
    this.refresh();
    this.#panic.found(error);
    if (isDamage(error)) this.#onFault(error);
  }

  async #transact<Result>(act: () => Result, sight: Sight | null): Promise<Result> {
    this.#panic.check();
    this.#checkMap();
    let look: Looking | null = null;
    let hasActed = false;
    const commit = this.#root.childTransaction(() => {
      const result = this.#checked(act);
      hasActed = true;
      if (sight !== null) look = this.#lookForIt(sight);
      return result;
    });
    try {
      const result = await this.#panic.settled(commit);
      this.#hasFailed = false;
      return result;
    } catch (error) {
      this.#hasFailed = hasActed;
      throw error;
    } finally {
      stopLooking(look);
    }
  }

  /** An immediate without a claim on the loop runs in every turn there is, and makes none. */
  #lookForIt(sight: Sight): Looking {
    const look = (): void => {
      if (this.#isClosing) return;
      this.refresh();
      if (sight.isVisible()) sight.seen();
      else looking.immediate = setImmediate(look).unref();
    };
    const looking = { immediate: setImmediate(look).unref() };
    return looking;
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

  /** Blocks this thread until it is on disk. When `act` throws, nothing has changed. */
  transactionSync<Result>(act: () => Result): Result {
    this.refresh();
    this.#panic.check();
    this.#checkMap();
    return this.#root.transactionSync(() => this.#checked(act));
  }

  #checked<Result>(act: () => Result): Result {
    const result = act();
    // Throws where a put of `act` has failed.
    void this.#format;
    return result;
  }

  #checkMap(): void {
    const { mapSize, lastPageNumber } = (this.#root as unknown as Inside).env.info();
    checkMapRoom({ mapBytes: mapSize, usedBytes: (lastPageNumber + 1) * pageBytes });
  }

  /** Reads in `act` and in what it yields see one moment of the store. */
  *snapshot<Item>(act: (options: SnapshotOptions) => Iterable<Item>): Generator<Item, void, undefined> {
    const transaction = this.#root.useReadTransaction();
    try {
      yield* act({ transaction });
    } finally {
      transaction.done();
    }
  }

  /** Lets reads of this turn see what another thread has committed. */
  refresh(): void {
    this.#root.resetReadTxn();
  }

  /**
   * Waits for outstanding writes and the disk. Where the disk has refused the latest, or LMDB has panicked, the file stays open
   * for the process to end.
   */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#underWay);
    const closed = this.#root.close();
    if (!this.#hasFailed && !this.#panic.hasPanicked) await closed;
  }
}

interface Looking {
  immediate: NodeJS.Immediate;
}

function stopLooking(looking: Looking | null): void {
  if (looking !== null) clearImmediate(looking.immediate);
}

export type SnapshotOptions = { readonly transaction: ReturnType<RootDatabase['useReadTransaction']> };

/** Entries of a table: from the tree's own count, without a walk. */
export function countEntries(table: Table<unknown>): number {
  return (table.getStats() as { entryCount: number }).entryCount;
}
