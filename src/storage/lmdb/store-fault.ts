/**
 * Classifies store faults by the codes of the system and of LMDB, and advises the operator on each, in the log, in answers and in the
 * doctor.
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

/** LMDB's codes for a damaged page; the last one: a transaction that met one. */
const damageCodes: ReadonlySet<unknown> = new Set([-30_797, -30_796, -30_793, -30_782]);
const failedTransaction = -30_782;

/** MDB_PANIC: LMDB accepts no transaction of this process any more; the file is intact. */
export const panicCode = -30_795;

export class StorePanicError extends Error {
  readonly code = panicCode;

  constructor(path: string) {
    super(
      `${path}: the disk refused the page that names the newest commit, and LMDB accepts no transaction of this process any more`,
    );
  }
}

/** LMDB's error codes with a cause outside the file: the machine, or a missing right. */
const readersFull = -30_790;
const machineCodes = [EACCES, EPERM, EROFS, ENOSPC, ENOMEM, EMFILE, ENFILE, EAGAIN, EIO, EINVAL];
const otherCodes: ReadonlySet<unknown> = new Set([...machineCodes, readersFull, panicCode]);

/** `error`: from the file system, with a name as its code, or from LMDB, with a number. */
export function faultOf(error: unknown): StoreFault {
  if (error instanceof MapFullError) return 'map';
  const code: unknown = (error as { readonly code?: unknown } | null)?.code;
  if (typeof code === 'string') return faults[code] ?? 'other';
  if (damageCodes.has(code)) return 'damaged';
  if (isPanic(error)) return 'panic';
  return typeof code === 'number' ? (faults[errnoName(code)] ?? 'other') : 'other';
}

function errnoName(code: number): string {
  return Object.entries(errno).find(([, value]) => value === code)?.[0] ?? '';
}

/** True if the disk refused a write; probeDisk shows when it accepts writes again. */
export function isDiskFault(error: unknown): boolean {
  return diskFaults.has(faultOf(error));
}

/** A read fails with EINVAL and LMDB's message instead. */
export function isPanic(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return code === panicCode || (code === EINVAL && String(message).includes('MDB_PANIC'));
}

/** True if the error of a read means a damaged file, not a fault of the machine or an earlier failed read. */
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
  'make sure that the disk has room and is healthy, then restart the server with reveille upgrade, which keeps sleeping devices connected: committed data is intact';

const advices: Readonly<Record<StoreFault, string>> = {
  full: 'make room on the disk of the data directory, or raise the quota',
  'file-size': 'raise the limit of file sizes (LimitFSIZE, ulimit -f)',
  'read-only': `mount it writable again, or continue with a copy of the data directory on another disk; the kernel remounts a failing disk read-only (${kernelLog})`,
  denied: 'run as the owner of the data directory',
  // LMDB reports a partial write to a full disk with the code of a failing disk.
  disk: `the disk is full (df), or fails (${kernelLog}): make room, or move the data directory to another one`,
  map: 'raise the limit of the address space (LimitAS, ulimit -v); none is best',
  damaged: damagedAdvice,
  panic: panicAdvice,
  other: 'reveille doctor checks the disk and the store',
};

/** Advice for the operator, as the end of a sentence. */
export function adviceOf(error: unknown): string {
  return advices[faultOf(error)];
}

const machineAdvices: Readonly<Record<string, string>> = {
  EMFILE: 'raise the limit of open files (LimitNOFILE, ulimit -n)',
  ENFILE: 'raise the limit of open files of the machine (fs.file-max)',
  ENOMEM: 'give the machine more memory, or raise its limits (LimitAS, ulimit -v)',
  ERR_DLOPEN_FAILED: 'npm ci repairs it; reveille doctor checks the libraries',
};

/**
 * Cause and advice for an operator. Null: neither the system nor LMDB nor the cluster reported the error, and its message belongs in
 * the log only.
 */
export function causeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof StoreOpenError) return error.message;
  if (error instanceof SharedStateUnavailable)
    return `${error.message}: reveille doctor checks the NATS that the settings name`;
  const advice = adviceBehind(error);
  if (advice !== '') return `${error.message}${advice}`;
  const isReported = 'syscall' in error || typeof (error as { readonly code?: unknown }).code === 'number';
  return isReported ? `${error.message}: ${advices.other}` : causeOf(error.cause);
}

/** Reveals no details, so it is safe for callers who are not operators. */
export const unexplainedFault =
  'internal error: see the log of the server; reveille doctor checks the machine';

/** Answer to an operator; the log has the error itself. */
export function explainFault(error: unknown): string {
  return causeOf(error) ?? unexplainedFault;
}

/** `: ` and advice, if the system's own message gives none; else empty. */
export function adviceBehind(error: unknown): string {
  if (faultOf(error) !== 'other') return `: ${adviceOf(error)}`;
  const code: unknown = (error as { readonly code?: unknown } | null)?.code;
  const advice = machineAdvices[typeof code === 'number' ? errnoName(code) : String(code)];
  return advice === undefined ? '' : `: ${advice}`;
}
