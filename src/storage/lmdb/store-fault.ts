/**
 * The faults of a store, by the codes of the system and of LMDB, and for each what an operator does about it: as the log, refusals
 * and the doctor say it.
 */
import { constants } from 'node:os';
import { SharedStateUnavailable } from '../../core/ports/session-locator.ts';
import { MapFullError } from './map-room.ts';
import { StoreOpenError } from './store-format.ts';

export type StoreFault =
  'full' | 'file-size' | 'read-only' | 'denied' | 'disk' | 'map' | 'damaged' | 'panic' | 'other';

const { errno } = constants;
const { EACCES, EPERM, EROFS, ENOSPC, ENOMEM, EMFILE, ENFILE, EAGAIN, EIO, EINVAL } = errno;

const faults: Readonly<Record<string, StoreFault>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'file-size',
  EROFS: 'read-only',
  EACCES: 'denied',
  EPERM: 'denied',
  EIO: 'disk',
};

const diskFaults: ReadonlySet<StoreFault> = new Set(['full', 'file-size', 'read-only', 'denied', 'disk']);

/** What LMDB answers where a page is not what it should be; the last: a transaction that has met one. */
const damageCodes: ReadonlySet<unknown> = new Set([-30_797, -30_796, -30_793, -30_782]);
const failedTransaction = -30_782;

/** MDB_PANIC: LMDB takes nothing of this process any more, and the file is whole. */
export const panicCode = -30_795;

export class StorePanicError extends Error {
  readonly code = panicCode;

  constructor(path: string) {
    super(
      `${path}: the disk refused the page that names the newest commit, and LMDB takes nothing of this process any more`,
    );
  }
}

/** Codes of LMDB's errors that say nothing of the file: the machine, or a right, is in the way. */
const readersFull = -30_790;
const machineCodes = [EACCES, EPERM, EROFS, ENOSPC, ENOMEM, EMFILE, ENFILE, EAGAIN, EIO, EINVAL];
const otherCodes: ReadonlySet<unknown> = new Set([...machineCodes, readersFull, panicCode]);

/** `error`: of the file system, whose code is a name, or of LMDB, whose code is a number. */
export function faultOf(error: unknown): StoreFault {
  if (error instanceof MapFullError) return 'map';
  const code: unknown = (error as { readonly code?: unknown } | null)?.code;
  if (typeof code === 'string') return faults[code] ?? 'other';
  if (damageCodes.has(code)) return 'damaged';
  if (isPanic(error)) return 'panic';
  return typeof code === 'number' ? (faults[errnoName(code)] ?? 'other') : 'other';
}

/** Empty: the system has no such code. */
function errnoName(code: number): string {
  return Object.entries(errno).find(([, value]) => value === code)?.[0] ?? '';
}

/** Of what refused a write: a disk, which can be asked with a file whether it takes writes again. */
export function isDiskFault(error: unknown): boolean {
  return diskFaults.has(faultOf(error));
}

/** A read has another code then, and LMDB's words. */
export function isPanic(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === panicCode || (code === EINVAL && String(message).includes('MDB_PANIC'));
}

/** Of what a read throws: that the file is damaged, and not that the machine is in the way or another read has failed. */
export function isDamage(error: unknown): boolean {
  const code: unknown = (error as { readonly code?: unknown } | null)?.code;
  return code !== failedTransaction && !otherCodes.has(code);
}

const kernelLog = 'journalctl -k says why';

export const damageAdvice =
  'restore the data directory from a backup (reveille restore), or name another with --data-dir';

export const damagedAdvice =
  'stop the server and restore the data directory from a backup (reveille restore)';

export const panicAdvice =
  'make sure that the disk has room and is well, then let reveille upgrade start the server anew, which keeps sleeping devices connected: what is committed is whole';

const advices: Readonly<Record<StoreFault, string>> = {
  full: 'make room on the disk of the data directory, or raise the quota',
  'file-size': 'raise the limit of file sizes (LimitFSIZE, ulimit -f)',
  'read-only': `mount it for writing again, or go on with a copy of the data directory on another disk; where a disk fails the kernel mounts it so (${kernelLog})`,
  denied: 'run as the owner of the data directory',
  // LMDB reports a page that a full disk takes in part with the code of a disk that fails.
  disk: `the disk is full (df), or fails (${kernelLog}): make room, or bring the data directory to another one`,
  map: 'raise the limit of the address space (LimitAS, ulimit -v); none is best',
  damaged: damagedAdvice,
  panic: panicAdvice,
  other: 'reveille doctor looks at the disk and the store',
};

/** What to do, as the end of a sentence. */
export function adviceOf(error: unknown): string {
  return advices[faultOf(error)];
}

const machineAdvices: Readonly<Record<string, string>> = {
  EMFILE: 'raise the limit of open files (LimitNOFILE, ulimit -n)',
  ENFILE: 'raise the limit of open files of the machine (fs.file-max)',
  ENOMEM: 'give the machine more memory, or raise its limits (LimitAS, ulimit -v)',
  ERR_DLOPEN_FAILED: 'npm ci mends it; reveille doctor checks the libraries',
};

/**
 * For an operator: the cause of an error, and what to do about it. Null: neither the system nor LMDB nor the cluster has
 * reported it, and its message is for the log alone.
 */
export function causeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof StoreOpenError) return error.message;
  if (error instanceof SharedStateUnavailable)
    return `${error.message}: reveille doctor asks the NATS that the settings name`;
  const advice = adviceBehind(error);
  if (advice !== '') return `${error.message}${advice}`;
  const isReported = 'syscall' in error || typeof (error as { readonly code?: unknown }).code === 'number';
  return isReported ? `${error.message}: ${advices.other}` : causeOf(error.cause);
}

/** Says nothing of the error: also for a caller who is no operator, or not known to be one. */
export const unexplainedFault =
  'internal error: see the log of the server; reveille doctor checks the machine';

/** The answer to an operator. The log has the error itself. */
export function explainFault(error: unknown): string {
  return causeOf(error) ?? unexplainedFault;
}

/** `: ` and what to do, where the system's own message leaves that open; else nothing. */
export function adviceBehind(error: unknown): string {
  if (faultOf(error) !== 'other') return `: ${adviceOf(error)}`;
  const code: unknown = (error as { readonly code?: unknown } | null)?.code;
  const advice = machineAdvices[typeof code === 'number' ? errnoName(code) : String(code)];
  return advice === undefined ? '' : `: ${advice}`;
}
