/**
 * Removes temporary files and folders of killed processes. Only those of this user are removed, and only if their creator is gone: by
 * the process id in the name, or because the lock of the data directory was free.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pid } from 'node:process';
import { isAlive } from './data-directory.ts';

/** Removes `path.<pid><ending>` if the process is gone. */
export function removeLeftovers(path: string, ending: string): void {
  removeOfGone(dirname(path), `${basename(path)}.`, ending);
}

const temporaryPrefix = 'reveille-';

/** Creates a temporary directory of this process, after removing those of killed processes. */
export function makeTemporaryDirectory(): string {
  removeOfGone(tmpdir(), temporaryPrefix, /-\w{6}$/);
  return mkdtempSync(join(tmpdir(), `${temporaryPrefix}${process.pid}-`));
}

/** Maximum removed at once: a start does not wait for more. */
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

/** Socket of the core of this supervisor, for its edges. */
export function edgeSocketName(): string {
  return `edges-${pid}.sock`;
}

/** Socket for the media process of this number. */
export function mediaSocketName(process: number): string {
  return `media-${process}-${pid}.sock`;
}

/** Sockets of supervisors, and files that are renamed when complete. */
const unfinishedForm =
  /^(?:edges|media-\d{1,2})-\d{1,10}\.sock(?:\.\d{1,10})?$|^(?:disk-probe|ops\.token|ops-tokens\.json|token-keys\.json|console-key\.json)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Called by the owner of the directory's lock, before it creates such files itself. */
export function clearDataDirectory(directory: string): void {
  const unfinished = readdirSync(directory).filter((name) => unfinishedForm.test(name));
  for (const name of unfinished.slice(0, leftoversMax)) rmSync(join(directory, name), { force: true });
}

function isOwn(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (process.getuid === undefined || stats.uid === process.getuid());
}
