/**
 * One LMDB file. Reads are synchronous, microseconds, from the memory map; writes go in batches to a writer
 * thread and are committed, visible and proof against `kill -9` when their promise resolves; the disk follows
 * within a second (`overlappingSync`).
 *
 * Choices: keys are the bytes of the ids themselves, because a device id is any UTF-8 and compared byte for
 * byte. Values are msgpack arrays. `eventTurnBatching` is off: with it on, lmdb keeps a promise of its own that
 * nobody holds, and a full disk would end the process with an unhandled rejection. A synchronous write blocks
 * its thread for as long as anybody else writes: it is for worker threads and for a store at rest.
 */
import { open, type Database, type RootDatabase } from 'lmdb';
import { Packr } from 'msgpackr';

export type Table<Row> = Database<Row, Buffer>;

export type EnvironmentMode = 'write' | 'read-only';

const environmentOptions = {
  keyEncoding: 'binary',
  maxDbs: 32,
  eventTurnBatching: false,
  // Of the files; missing in lmdb's types.
  permissionsMode: 0o600,
} as const;

/** Who wants to know when a batch can be seen, and by what. */
export interface Sight {
  /** Reads something of the batch. Never throws. */
  isVisible(): boolean;
  /** Called once at most. Never throws. */
  seen(): void;
}

export class Environment {
  readonly #root: RootDatabase<unknown, Buffer>;
  readonly #path: string;
  /** Nothing may be read any more: the package would reset a transaction that is gone. */
  #isClosing = false;

  /** Makes the file where there is none, unless read-only. Throws what LMDB throws. */
  constructor(path: string, mode: EnvironmentMode) {
    this.#path = path;
    this.#root = open({ ...environmentOptions, path, readOnly: mode === 'read-only' });
  }

  /** Makes the table where there is none, unless read-only. */
  table<Row>(name: string): Table<Row> {
    const table = this.findTable<Row>(name);
    if (table === null) throw new Error(`${this.#path} has no table ${name}`);
    return table;
  }

  /** The same; null: it is not there, and the file is read-only. */
  findTable<Row>(name: string): Table<Row> | null {
    const encoder = new Packr({ useRecords: false });
    const options = { name, keyEncoding: 'binary', encoder } as const;
    const table: Table<Row> | undefined = this.#root.openDB<Row, Buffer>(options);
    return table ?? null;
  }

  /**
   * Puts and removes of `write` are committed together, or the promise rejects and none of them is there. It resolves
   * when the disk has them. `sight` is told before that, in the first turn of the loop in which they are visible, and
   * so proof against `kill -9`: the writer thread wakes the loop then.
   */
  async batch(write: () => void, sight: Sight | null = null): Promise<void> {
    const commit = settle(this.#root.batch(write));
    const look = sight === null ? null : this.#lookForIt(sight);
    try {
      await commit;
    } finally {
      if (look !== null) clearImmediate(look.immediate);
    }
  }

  /** An immediate without a claim on the loop runs in every turn there is, and makes none. */
  #lookForIt(sight: Sight): { immediate: NodeJS.Immediate } {
    const look = (): void => {
      if (this.#isClosing) return;
      this.refresh();
      if (sight.isVisible()) sight.seen();
      else looking.immediate = setImmediate(look).unref();
    };
    const looking = { immediate: setImmediate(look).unref() };
    return looking;
  }

  /**
   * Reads and writes with nobody writing in between; never blocks the loop while it waits for its turn.
   * `act` decides before its first write and does not throw after it.
   */
  transaction<Result>(act: () => Result): Promise<Result> {
    return settle(this.#root.transaction(act));
  }

  /** Blocks this thread until it is on disk. When `act` throws, nothing has changed. */
  transactionSync<Result>(act: () => Result): Result {
    return this.#root.transactionSync(act);
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

  /** Waits for outstanding writes and the disk. */
  close(): Promise<void> {
    this.#isClosing = true;
    return this.#root.close();
  }
}

export type SnapshotOptions = { readonly transaction: ReturnType<RootDatabase['useReadTransaction']> };

/** Rejects with the cause, which lmdb tells in a second promise that somebody must hold, if it comes at once. */
async function settle<Result>(commit: Promise<Result>): Promise<Result> {
  try {
    return await commit;
  } catch (error) {
    const cause = (error as { commitError?: Promise<never> }).commitError?.catch((reason: unknown) => reason);
    throw await Promise.race([cause ?? error, nextTurn(error)]);
  }
}

function nextTurn<Value>(value: Value): Promise<Value> {
  return new Promise((resolve) => {
    setImmediate(resolve, value);
  });
}

/** Entries of a table: from the tree's own count, without a walk. */
export function countEntries(table: Table<unknown>): number {
  return (table.getStats() as { entryCount: number }).entryCount;
}
