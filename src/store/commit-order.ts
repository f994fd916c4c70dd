/**
 * Keeps commits in one order where several processes write an LMDB file. The package's LMDB has a flaw there: a process
 * that opens the file notes in the lock file, without a lock, the newest commit that it had read a moment before. What
 * was committed in between is out of sight, and whoever writes next would overwrite it. But it is still in the file, so
 * each transaction looks first whether it is the one behind the newest commit, and where it is not, the note is set
 * right by who has the lock for writing.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { assert } from '../base/assert.ts';
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

  constructor(root: RootDatabase<unknown, Buffer>, path: string) {
    this.#inside = root as unknown as Inside;
    this.#lockPath = `${path}-lock`;
  }

  /**
   * In a transaction, before it writes. False: it would overwrite what is committed; it must change nothing, and the
   * next one will be in order.
   */
  isKept(): boolean {
    const newest = this.#inside.env.info().lastTxnId;
    if (this.#inside.getWriteTxnId() > newest) return true;
    this.#note(newest);
    return false;
  }

  #note(newest: number): void {
    const file = openSync(this.#lockPath, 'r+');
    try {
      const head = Buffer.alloc(lockHeadBytes);
      readSync(file, head, 0, lockHeadBytes, 0);
      assert(head.readUInt32LE(0) === lockMagic, 'the lock file is as LMDB has it');
      head.writeBigUInt64LE(BigInt(newest), newestCommitAt);
      writeSync(file, head, newestCommitAt, 8, newestCommitAt);
    } finally {
      closeSync(file);
    }
  }
}
