/**
 * Leftovers of killed processes: files and folders that their makers would have removed. Only those of this user are removed,
 * whose maker is gone: known by the id of its process in the name, or because the lock of the data directory was free.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pid } from 'node:process';
import { isAlive } from './data-directory.ts';

/** Removes `path.<pid><ending>` of processes that are gone. */
export function removeLeftovers(path: string, ending: string): void {
  removeOfGone(dirname(path), `${basename(path)}.`, ending);
}

const temporaryPrefix = 'reveille-';

/** A directory of this process, in the system's for temporary files. Removes those of killed processes first. */
export function makeTemporaryDirectory(): string {
  removeOfGone(tmpdir(), temporaryPrefix, /-\w{6}$/);
  return mkdtempSync(join(tmpdir(), `${temporaryPrefix}${process.pid}-`));
}

/** Removed at one time: a start is not to wait for more. */
const leftoversMax = 100;

function removeOfGone(folder: string, beginning: string, ending: string | RegExp): void {
  let removed = 0;
  for (const name of readdirSync(folder)) {
    if (removed === leftoversMax) return;
    const rest = name.startsWith(beginning) ? name.slice(beginning.length) : '';
    const end = typeof ending === 'string' ? rest.lastIndexOf(ending) : rest.search(ending);
    const maker = rest.slice(0, Math.max(0, end));
    if (!/^[1-9]\d{0,9}$/.test(maker) || isAlive(Number(maker)) || !isOwn(join(folder, name))) continue;
    rmSync(join(folder, name), { recursive: true, force: true });
    removed += 1;
  }
}

/** The socket by which the edges of the supervisor that is this process reach their core. */
export function edgeSocketName(): string {
  return `edges-${pid}.sock`;
}

/** The same of the media process with this number. */
export function mediaSocketName(process: number): string {
  return `media-${process}-${pid}.sock`;
}

/** Sockets of supervisors, and files that are written under a name of their own before they get theirs. */
const unfinishedForm =
  /^(?:edges|media-\d{1,2})-\d{1,10}\.sock(?:\.\d{1,10})?$|^(?:disk-probe|ops\.token|ops-tokens\.json|token-keys\.json|console-key\.json)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** By the holder of the directory's lock, before it makes any of these itself. */
export function clearDataDirectory(directory: string): void {
  const unfinished = readdirSync(directory).filter((name) => unfinishedForm.test(name));
  for (const name of unfinished.slice(0, leftoversMax)) rmSync(join(directory, name), { force: true });
}

function isOwn(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (process.getuid === undefined || stats.uid === process.getuid());
}
