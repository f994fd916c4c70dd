/**
 * LMDB's panic (MDB_PANIC): it could not write the page that says which commit is the newest, or mark that commit as flushed,
 * and takes no transaction of this process any more, reads included. What is committed is whole, and every other process reads
 * and writes it. A file system that never writes in place (Btrfs, ZFS) does that when it is full, and so does a disk that fails.
 *
 * The package begins transactions all the same: its writer then keeps a lock for good, no promise settles, and a synchronous one
 * would crash the process. So each is preceded by a look, and the end of each batch of the package is watched.
 */
import type { RootDatabase } from 'lmdb';
import { nextTurn } from '../../lib/clock.ts';
import { transactionBegins } from './abrupt-exit.ts';
import { isPanic, panicCode, StorePanicError } from './store-fault.ts';

/** Steps of a batch of the package, from 0; another number is the error that ended it. */
const finishedMax = 2;

type Start = (address: number, done: (status: number) => unknown) => void;

/** What the package has beside its types. */
interface Inside {
  readonly env: { startWriting: Start };
}

export interface PanicWatchDeps {
  readonly path: string;
  /** Reads something of the file, in a transaction of this turn of the loop. */
  readonly look: () => void;
  /** Told once. Must not throw. */
  readonly told: (error: StorePanicError) => void;
}

export class PanicWatch {
  readonly #deps: PanicWatchDeps;
  #error: StorePanicError | null = null;
  /** Whoever waits for a transaction. */
  readonly #waiting = new Set<(error: StorePanicError) => void>();

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
    // The package's own is not writable, and its object may have another.
    Object.defineProperty(env, 'startWriting', { value: watched });
  }

  get hasPanicked(): boolean {
    return this.#error !== null;
  }

  /** Throws a StorePanicError once LMDB has panicked: nothing may be begun. */
  check(): void {
    try {
      if (this.#error === null) this.#deps.look();
    } catch (error) {
      this.found(error);
    }
    if (this.#error !== null) throw this.#error;
  }

  /** Somebody's read has thrown `error`. */
  found(error: unknown): void {
    if (this.#error !== null || !isPanic(error)) return;
    this.#error = new StorePanicError(this.#deps.path);
    this.#deps.told(this.#error);
    for (const reject of this.#waiting) reject(this.#error);
  }

  /** As `commit` of the package does, and with a StorePanicError where it never would. */
  async settled<Result>(commit: Promise<Result>): Promise<Result> {
    let giveUp: (error: StorePanicError) => void = () => undefined;
    try {
      return await new Promise<Result>((resolve, reject) => {
        giveUp = reject;
        this.#waiting.add(giveUp);
        settle(commit).then(resolve, reject);
      });
    } finally {
      this.#waiting.delete(giveUp);
    }
  }

  /** An exit would wait for the lock that the package's writer keeps: as after any transaction under way, it is a kill. */
  #batchPanicked(): void {
    transactionBegins();
    this.found({ code: panicCode });
  }
}

/** Rejects with the cause, which lmdb tells in a second promise that somebody must hold, if it comes at once. */
async function settle<Result>(commit: Promise<Result>): Promise<Result> {
  try {
    return await commit;
  } catch (error) {
    const cause = (error as { commitError?: Promise<never> }).commitError?.catch((reason: unknown) => reason);
    throw await Promise.race([cause ?? error, nextTurn().then(() => error)]);
  }
}

/** The package prints the error of a refused batch with its stack, and rejects the transaction with it: the caller logs that. */
function withoutPrint<Answer>(act: () => Answer): Answer {
  const { error } = console;
  Object.assign(console, { error: () => undefined });
  try {
    return act();
  } finally {
    Object.assign(console, { error });
  }
}
