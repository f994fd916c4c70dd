/**
 * The bearer token of administration, created at the first start in the data directory, readable only by its owner, and read by
 * later starts and by the command line. Source: running.md, Processes and listeners.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const fileName = 'ops.token';
const tokenBytes = 32;
/** 32 bytes in base64url. */
const tokenForm = /^[A-Za-z0-9_-]{43}$/;

/** Null: no server has started on this directory yet. Throws if the file is unreadable or invalid. */
export function findOpsToken(dataDirectory: string): string | null {
  const path = join(dataDirectory, fileName);
  const text = readIfThere(path)?.trim();
  if (text === undefined) return null;
  if (!tokenForm.test(text))
    throw new Error(`${path} contains no token: delete it, and the next start creates one`);
  return text;
}

/** Reads the directory's token, or creates it. Throws if the directory cannot be written. */
export function ensureOpsToken(dataDirectory: string): string {
  const found = findOpsToken(dataDirectory);
  if (found !== null) return found;
  create(join(dataDirectory, fileName), randomBytes(tokenBytes).toString('base64url'));
  return findOpsToken(dataDirectory) ?? ensureOpsToken(dataDirectory);
}

/** Links the finished file: atomic, and never replaces a token that another start just created. */
function create(path: string, token: string): void {
  const own = `${path}.${randomUUID()}`;
  writeFileSync(own, `${token}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(own, path);
  } catch (error) {
    if (!isErrorCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isErrorCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
