/**
 * The audit log: a line is on disk before its change begins, or the change is refused. One process writes it: the server, or a
 * command that owns the directory's lock. See docs/adr/0021.
 */
import { open, rename, type FileHandle } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import { SerialQueue } from '../../lib/collections/queues.ts';
import { auditedAtOnceMax, auditFileBytesMax, auditOldFilesMax } from '../../model/limits.ts';
import type { AuditIntent, AuditLine, AuditOutcome } from '../../model/audit.ts';
import { auditPath, begunLine, encodeBegun, encodeEnded, endedLine } from './audit-files.ts';
import { syncDirectory, unlessMissing } from '../keys/private-file.ts';
import { adviceBehind, explainFault } from '../lmdb/store-fault.ts';

/** The change was refused because it could not be recorded. */
export class AuditRefusal extends Error {
  override readonly name = 'AuditRefusal';
}

export interface AuditLogDeps {
  readonly directory: string;
  readonly clock: Clock;
  /** Called once for each line when its result is known. */
  readonly onRecorded: (line: AuditLine) => void;
  /** Called for a line whose result cannot be written; it stays `unknown`. */
  readonly onLost: (line: AuditLine, reason: string) => void;
  /** Default: `auditFileBytesMax`, and `auditOldFilesMax` below. */
  readonly fileBytesMax?: number;
  readonly oldFilesMax?: number;
}

interface AuditedChange {
  /** Call once, at the end of the change. Never rejects. */
  end(outcome: AuditOutcome): Promise<void>;
}

const ownerOnly = 0o600;
const othersBits = 0o077;
const lineFeed = 0x0a;

export class AuditLog {
  readonly #deps: AuditLogDeps;
  readonly #fileBytesMax: number;
  readonly #oldFilesMax: number;
  readonly #turns = new SerialQueue();
  #underWay = 0;

  constructor(deps: AuditLogDeps) {
    this.#deps = deps;
    this.#fileBytesMax = deps.fileBytesMax ?? auditFileBytesMax;
    this.#oldFilesMax = deps.oldFilesMax ?? auditOldFilesMax;
  }

  /** Resolves when the line is on disk; otherwise rejects with an AuditRefusal. */
  async #open(intent: AuditIntent): Promise<AuditedChange> {
    if (this.#underWay >= auditedAtOnceMax)
      throw new AuditRefusal(`refused: ${auditedAtOnceMax} changes are under way already`);
    this.#underWay += 1;
    try {
      return await this.#begin(begunLine(intent, this.#deps.clock.wallMs()));
    } catch (error) {
      this.#underWay -= 1;
      throw new AuditRefusal(
        `refused: the audit log cannot be written: ${messageOf(error)}${adviceBehind(error)}`,
      );
    }
  }

  /**
   * Runs `act` after its line is on disk. Rejects with an AuditRefusal before that, or with the error of `act`: the line contains a
   * cause that the system or the store reported, and no details of other errors.
   */
  async record<Result>(
    intent: AuditIntent,
    act: () => Promise<Result>,
    outcomeOf: (result: Result) => AuditOutcome,
  ): Promise<Result> {
    const change = await this.#open(intent);
    let outcome: AuditOutcome = { result: 'failed' };
    try {
      const result = await act();
      outcome = outcomeOf(result);
      return result;
    } catch (error) {
      outcome = { result: 'failed', reason: explainFault(error) };
      throw error;
    } finally {
      await change.end(outcome);
    }
  }

  async #begin(begun: AuditLine): Promise<AuditedChange> {
    const bytes = encodeBegun(begun);
    const { file, position } = await this.#turns.run(() => this.#append(bytes));
    return {
      end: async (outcome) => {
        const line = endedLine(begun, outcome);
        try {
          await this.#turns.run(() => overwrite(file, encodeEnded(begun, outcome, bytes.length), position));
        } catch (error) {
          this.#deps.onLost(line, messageOf(error));
        }
        this.#underWay -= 1;
        this.#deps.onRecorded(line);
      },
    };
  }

  /** Returns the file that contains the line, which stays valid after a rotation, and the line's position. */
  async #append(bytes: Buffer): Promise<{ readonly file: FileHandle; readonly position: number }> {
    const path = auditPath(this.#deps.directory);
    const position = await this.#appendTo(path, bytes);
    return { file: await open(path, 'r+'), position };
  }

  async #appendTo(path: string, bytes: Buffer): Promise<number> {
    const file = await open(path, 'a+', ownerOnly);
    try {
      const stat = await file.stat();
      const { size, mode } = stat;
      if (!stat.isFile()) throw new Error(`${path} is not a regular file`);
      if (size > 0 && size + bytes.length > this.#fileBytesMax) {
        await this.#rotate();
        return await this.#appendTo(path, bytes);
      }
      if ((mode & othersBits) !== 0) await file.chmod(ownerOnly);
      if (size === 0) await syncDirectory(this.#deps.directory);
      const before = (await isTorn(file, size)) ? Buffer.of(lineFeed) : Buffer.alloc(0);
      await appendWhole(file, Buffer.concat([before, bytes]), size);
      return size + before.length;
    } finally {
      await file.close();
    }
  }

  async #rotate(): Promise<void> {
    const { directory } = this.#deps;
    for (let age = this.#oldFilesMax - 1; age >= 0; age--)
      await rename(auditPath(directory, age), auditPath(directory, age + 1)).catch(unlessMissing);
    await syncDirectory(directory);
  }
}

/** Appends all bytes and syncs them, or restores the file's size. */
async function appendWhole(file: FileHandle, bytes: Buffer, size: number): Promise<void> {
  try {
    await file.appendFile(bytes);
    await file.datasync();
  } catch (error) {
    await file.truncate(size).catch(() => undefined);
    throw error;
  }
  // Otherwise the result would be written to the wrong position.
  if ((await file.stat()).size !== size + bytes.length) throw new Error('another process writes to it');
}

async function overwrite(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  try {
    await file.write(bytes, 0, bytes.length, position);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** True: a process was killed while it wrote the last line. */
async function isTorn(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  await file.read(last, 0, 1, size - 1);
  return last[0] !== lineFeed;
}
