/**
 * Handles LMDB's panic (MDB_PANIC): LMDB could not write the page that names the newest commit, or mark that commit as flushed, and
 * from then on accepts no transaction of this process, reads included. Committed data is intact, and other processes can read and
 * write it. Causes are a failing disk, and a full file system that never writes in place (Btrfs, ZFS).
 *
 * The lmdb package begins transactions all the same: its writer then keeps a lock forever, no promise settles, and a synchronous
 * transaction would crash the process. So each transaction is preceded by a probe, and the end of each batch of the package is
 * watched.
 */
import type { RootDatabase } from 'lmdb';
import { nextTurn } from '../../lib/clock.ts';
import { transactionBegins } from './abrupt-exit.ts';
import { isPanic, panicCode, StorePanicError } from './store-fault.ts';

/** Last step of a batch of the package, counted from 0; another number is the error that ended the batch. */
const finishedMax = 2;

type Start = (address: number, done: (status: number) => unknown) => void;

/** Members that the package's types lack. */
interface Inside {
  readonly env: { startWriting: Start };
}

export interface PanicWatchDeps {
  readonly path: string;
  /** Reads a row of the file, in a transaction of this turn of the loop. */
  readonly probe: () => void;
  /** Called once. Must not throw. */
  readonly onPanic: (error: StorePanicError) => void;
}

export class PanicWatch {
  readonly #deps: PanicWatchDeps;
  #error: StorePanicError | null = null;
  /** Reject functions of the callers that await a transaction. */
  readonly #rejects = new Set<(error: StorePanicError) => void>();

  constructor(root: RootDatabase<unknown, Buffer>, deps: PanicWatchDeps) {
    this.#deps = deps;
    const { env } = root as unknown as Inside;
    const start = env.startWriting.bind(env);
    const watched: Start = (address, done) =>
      start(address, (status) => {
        const answer = status < 0 || status > finishedMax ? withoutPrint(() => done(status)) : done(status);
        if (status === panicCode) this.#batchPanicked();
        return answer;
      });
    // The package's property is not writable.
    Object.defineProperty(env, 'startWriting', { value: watched });
  }

  get hasPanicked(): boolean {
    return this.#error !== null;
  }

  /** Throws a StorePanicError after a panic: no transaction may begin. */
  check(): void {
    try {
      if (this.#error === null) this.#deps.probe();
    } catch (error) {
      this.found(error);
    }
    if (this.#error !== null) throw this.#error;
  }

  /** Call with each error that a read throws. */
  found(error: unknown): void {
    if (this.#error !== null || !isPanic(error)) return;
    this.#error = new StorePanicError(this.#deps.path);
    this.#deps.onPanic(this.#error);
    for (const reject of this.#rejects) reject(this.#error);
  }

  /** Settles like `commit`, and rejects with a StorePanicError when `commit` never settles. */
  async awaitCommit<Result>(commit: Promise<Result>): Promise<Result> {
    let giveUp: (error: StorePanicError) => void = () => undefined;
    try {
      return await new Promise<Result>((resolve, reject) => {
        giveUp = reject;
        this.#rejects.add(giveUp);
        withCause(commit).then(resolve, reject);
      });
    } finally {
      this.#rejects.delete(giveUp);
    }
  }

  /** An exit would wait for the lock of the package's writer, so it counts as a transaction under way and ends in a kill. */
  #batchPanicked(): void {
    transactionBegins();
    this.found({ code: panicCode });
  }
}

/**
 * Rejects with the cause, which lmdb provides in a second promise, if it is available at once; that promise must be handled in any
 * case.
 */
async function withCause<Result>(commit: Promise<Result>): Promise<Result> {
  try {
    return await commit;
  } catch (error) {
    const cause = (error as { commitError?: Promise<never> }).commitError?.catch((reason: unknown) => reason);
    throw await Promise.race([cause ?? error, nextTurn().then(() => error)]);
  }
}

/** The package prints the error of a refused batch with its stack, and also rejects the transaction, whose caller logs it. */
function withoutPrint<Answer>(act: () => Answer): Answer {
  const { error } = console;
  Object.assign(console, { error: () => undefined });
  try {
    return act();
  } finally {
    Object.assign(console, { error });
  }
}
