/** Damage of a store: found by a walk in another process, which a damaged file may end. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../lib/module-worker.ts';
import { livingPid, wasLeftLocked } from './data-directory.ts';
import { hasStore } from './store-access.ts';
import { StoreOpenError } from './store-format.ts';
import { damageWalkAfterCrashMsMax, damageWalkMsMax } from './store-limits.ts';

/**
 * Resolves to a sentence that names the damaged file; null: none was found within `msMax`, a bound of the reading alone.
 * What keeps the files from being opened at all is said by whoever opens them.
 */
export async function findStoreDamage(directory: string, msMax: number): Promise<string | null> {
  const module = fileURLToPath(moduleBeside('./store-walker', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, module, directory, String(msMax)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<string | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(signal ?? (code === 0 ? null : `exit code ${code}`)));
  });
  const said = await text(child.stdout);
  const how = await ended;
  const file = said.match(/^\S+\.mdb$/gm)?.at(-1);
  if (how === null || file === undefined) return null;
  const reason = /^error (.*)$/m.exec(said)?.[1] ?? `reading it ends a process with ${how}`;
  return `the store's file ${join(directory, file)} is damaged: ${reason}`;
}

export const damageAdvice = 'restore the data directory from a backup, or name another with --data-dir';

/** Before a start opens the store: throws a StoreOpenError where it is damaged, and looks longer where a crash left it. */
export async function refuseDamage(directory: string): Promise<void> {
  if (!hasStore(directory) || livingPid(directory) !== null) return;
  const damage = await findStoreDamage(
    directory,
    wasLeftLocked(directory) ? damageWalkAfterCrashMsMax : damageWalkMsMax,
  );
  if (damage !== null) throw new StoreOpenError(`${damage}: ${damageAdvice}`);
}
