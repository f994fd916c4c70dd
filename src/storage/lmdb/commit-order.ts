/**
 * Keeps the commits of an LMDB file in one order, whoever opens it meanwhile. The package's LMDB has a flaw there: a
 * process that opens the file, read-only too, notes in the lock file, without a lock, the newest commit that it had read
 * a moment before. What was committed in between is out of sight, and whoever writes next would overwrite it. But it is
 * still in the file, so each transaction looks first whether it is the one behind the newest commit, and where it is
 * not, the note is set right by who has the lock for writing.
 *
 * The lock file is never opened here: a process that closes it gives up LMDB's own lock on it, and the next who opens the
 * store would make the mutexes anew. It is written by the descriptor that LMDB has.
 */
import { fstatSync, readdirSync, readSync, statSync, writeSync } from 'node:fs';
import { assert } from '../../lib/assert.ts';
import type { RootDatabase } from 'lmdb';

/** What the package has beside its types. */
interface Inside {
  getWriteTxnId(): number;
  readonly env: { info(): { readonly lastTxnId: number } };
}

const lockMagic = 0xbeefc0de;
/** In the lock file, behind its magic and its format: the id of the newest commit, least significant byte first. */
const newestCommitAt = 8;
const lockHeadBytes = 16;

export class CommitOrder {
  readonly #inside: Inside;
  readonly #lockPath: string;
  /** LMDB's; null: not looked for yet. */
  #lockFile: number | null = null;

  constructor(root: RootDatabase<unknown, Buffer>, path: string) {
    this.#inside = root as unknown as Inside;
    this.#lockPath = `${path}-lock`;
  }

  /**
   * In a transaction, before it writes. False: it would overwrite what is committed; it must change nothing, and the
   * next one will be in order.
   */
  isKept(): boolean {
    const newest = this.#newest;
    if (this.#inside.getWriteTxnId() > newest) return true;
    this.#note(newest);
    return false;
  }

  /**
   * Sets the note right without the lock, for a commit that waits for it: LMDB's turn to the disk does, for ever. Should
   * somebody commit right now, the note is wrong again, which the next transaction or the next call finds.
   */
  restore(): void {
    const newest = this.#newest;
    if (this.#head().readBigUInt64LE(newestCommitAt) < BigInt(newest)) this.#note(newest);
  }

  get #newest(): number {
    return this.#inside.env.info().lastTxnId;
  }

  #note(newest: number): void {
    const head = this.#head();
    head.writeBigUInt64LE(BigInt(newest), newestCommitAt);
    writeSync(this.#file, head, newestCommitAt, 8, newestCommitAt);
  }

  #head(): Buffer {
    const head = Buffer.alloc(lockHeadBytes);
    readSync(this.#file, head, 0, lockHeadBytes, 0);
    assert(head.readUInt32LE(0) === lockMagic, 'the lock file is as LMDB has it');
    return head;
  }

  get #file(): number {
    return (this.#lockFile ??= findOpenFile(this.#lockPath));
  }
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
