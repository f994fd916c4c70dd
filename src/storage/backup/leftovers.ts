/** The leftovers of a killed backup or verification beside its file, known by the id of its process, which is gone. */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isAlive } from '../lmdb/data-directory.ts';

/** Removes `path.<pid><ending>` of processes that are gone. */
export function removeLeftovers(path: string, ending: string): void {
  const [folder, beginning] = [dirname(path), `${basename(path)}.`];
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(beginning) || !name.endsWith(ending)) continue;
    const pid = name.slice(beginning.length, -ending.length);
    if (/^[1-9]\d{0,9}$/.test(pid) && !isAlive(Number(pid)))
      rmSync(join(folder, name), { recursive: true, force: true });
  }
}
