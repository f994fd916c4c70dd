/**
 * The whole work-around for a flaw of the package's LMDB, which loses commits: a process that opens the file, read-only
 * too, notes in the lock file, without a lock, the newest commit that it had read a moment before. What was committed in
 * between is out of sight, and the next writer would overwrite it. But it is still in the data file, so each transaction
 * first checks that it follows the newest commit; if not, it sets the note right while it holds the write lock.
 *
 * The lock file is never opened here: a process that closes it gives up LMDB's own lock on it, and the next opener would
 * make the mutexes anew. It is written through the descriptor that LMDB has.
 *
 * It does nothing but on Linux, the only platform it was tried on: elsewhere the flaw stays, and neither a lock file nor
 * a descriptor is looked at. Source: docs/adr/0020, with the text of an issue for the package's authors.
 */
import { fstatSync, readdirSync, readSync, statSync, writeSync } from 'node:fs';
import type { RootDatabase } from 'lmdb';
import { assert } from '../../lib/assert.ts';
import type { Cancel } from '../../lib/clock.ts';
import { SystemClock } from '../../lib/system-clock.ts';
import { restoreOrderMs } from './store-limits.ts';

/** What the package has beside its types. */
interface Inside {
  getWriteTxnId(): number;
  readonly env: { info(): { readonly lastTxnId: number } };
}

const clock = new SystemClock();

const lockMagic = 0xbeefc0de;
/** In the lock file, behind its magic and its format: the id of the newest commit, least significant byte first. */
const newestCommitAt = 8;
const lockHeadBytes = 16;

/** The result of a transaction that would overwrite what is committed: it changed nothing, and is to be run again. */
export const outOfOrder = Symbol('out of order');

export class CommitOrder {
  readonly #inside: Inside;
  /** LMDB's; null: the flaw stays. Found at once: a later look would end the process where the file was removed meanwhile. */
  readonly #lockFile: number | null;
  #stopRestoring: Cancel | null = null;

  constructor(root: RootDatabase<unknown, Buffer>, path: string, platform: string = process.platform) {
    this.#inside = root as unknown as Inside;
    this.#lockFile = platform === 'linux' ? findOpenFile(`${path}-lock`) : null;
  }

  /** Inside a transaction: runs `act` if the transaction follows the newest commit. The one after one that does not will. */
  inOrder<Result>(act: () => Result): Result | typeof outOfOrder {
    if (this.#lockFile === null) return act();
    const newest = this.#newest;
    if (this.#inside.getWriteTxnId() > newest) return act();
    note(this.#lockFile, newest);
    return outOfOrder;
  }

  /** While transactions are under way: restores the note every 250 ms. */
  watch(): void {
    if (this.#lockFile !== null) this.#stopRestoring ??= clock.every(restoreOrderMs, () => this.restore());
  }

  /** No transaction is under way any more. */
  rest(): void {
    this.#stopRestoring?.();
    this.#stopRestoring = null;
  }

  /**
   * Sets the note right without the lock, for a commit that would otherwise wait for it without end: LMDB's wait for the
   * disk does. If another commit lands right now the note is wrong again, which the next transaction or call finds.
   */
  restore(): void {
    if (this.#lockFile === null) return;
    const newest = this.#newest;
    if (notedCommit(this.#lockFile) < BigInt(newest)) note(this.#lockFile, newest);
  }

  /** The id of the newest commit, if a transaction that begins now sees it; null: the note is behind it. */
  get readable(): number | null {
    const newest = this.#newest;
    return this.#lockFile === null || notedCommit(this.#lockFile) === BigInt(newest) ? newest : null;
  }

  get #newest(): number {
    return this.#inside.env.info().lastTxnId;
  }
}

function note(lockFile: number, newest: number): void {
  const head = readHead(lockFile);
  head.writeBigUInt64LE(BigInt(newest), newestCommitAt);
  writeSync(lockFile, head, newestCommitAt, 8, newestCommitAt);
}

function notedCommit(lockFile: number): bigint {
  return readHead(lockFile).readBigUInt64LE(newestCommitAt);
}

function readHead(lockFile: number): Buffer {
  const head = Buffer.alloc(lockHeadBytes);
  readSync(lockFile, head, 0, lockHeadBytes, 0);
  assert(head.readUInt32LE(0) === lockMagic, 'the lock file has the layout of LMDB');
  return head;
}

/** The descriptor by which this process has a file open. */
function findOpenFile(path: string): number {
  const { dev, ino } = statSync(path);
  const file = readdirSync('/dev/fd')
    .map(Number)
    .find((descriptor) => {
      const stats = fstatOf(descriptor);
      return stats?.ino === ino && stats.dev === dev;
    });
  assert(file !== undefined, `${path} is open`);
  return file;
}

/** Null: it was the one by which the directory was read. */
function fstatOf(descriptor: number): { readonly dev: number; readonly ino: number } | null {
  try {
    return fstatSync(descriptor);
  } catch {
    return null;
  }
}
