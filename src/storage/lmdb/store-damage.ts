/** Detects damage of a store by a walk in another process, because a damaged file may crash the process that reads it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { moduleBeside } from '../../lib/module-worker.ts';
import { livingPid, ServerLock, wasLeftLocked } from './data-directory.ts';
import { checkStoreAccess, hasStore } from './store-access.ts';
import { damageAdvice } from './store-fault.ts';
import { StoreOpenError } from './store-format.ts';
import { damageWalkAfterCrashMsMax, damageWalkMsMax, damageWalkStartMsMax } from './store-limits.ts';

/** Result of a walk: completely or partly read without a fault, or a sentence that names the damaged file. */
export type StoreWalk =
  { readonly state: 'whole' | 'partly read' } | { readonly state: 'damaged'; readonly damage: string };

/** Signals that a damaged file can cause; any other signal means that the walk was stopped. */
const faultSignals: ReadonlySet<string | null> = new Set([
  'SIGSEGV',
  'SIGBUS',
  'SIGABRT',
  'SIGFPE',
  'SIGILL',
  'SIGTRAP',
]);

/**
 * `msMax`: maximum time to read. Holds the directory's lock, so that no server opens the files meanwhile. If the files cannot be
 * opened or no process can be started, the store counts as partly read: opening it reports the cause. Rejects with a StoreOpenError
 * when another process owns the lock.
 */
export async function walkStore(directory: string, msMax: number): Promise<StoreWalk> {
  const own = new ServerLock(directory);
  try {
    return await walk(directory, msMax);
  } finally {
    own.release();
  }
}

async function walk(directory: string, msMax: number): Promise<StoreWalk> {
  const module = fileURLToPath(moduleBeside('./store-walker', import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, module, directory, String(msMax)], {
    stdio: ['ignore', 'pipe', 'ignore'],
    // A hanging disk must not block here; opening the store waits for it.
    timeout: msMax + damageWalkStartMsMax,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<string | null>((resolve) => {
    child.on('error', () => resolve(null));
    child.on('close', (_code, signal) => resolve(signal));
  });
  const [said, signal] = await Promise.all([text(child.stdout).catch(() => ''), ended]);
  return judgeWalk(directory, said, signal);
}

/** `said`: the walker's output; `signal`: the signal that ended it. */
export function judgeWalk(directory: string, said: string, signal: string | null): StoreWalk {
  const file = said.match(/^\S+\.mdb$/gm)?.at(-1);
  const error = /^error (.*)$/m.exec(said)?.[1];
  const reason = faultSignals.has(signal) ? `reading it ends a process with ${signal}` : error;
  if (file === undefined || reason === undefined)
    return { state: /^whole$/m.test(said) ? 'whole' : 'partly read' };
  return { state: 'damaged', damage: `the store's file ${join(directory, file)} is damaged: ${reason}` };
}

/** Call before a start opens the store: throws a StoreOpenError when it is damaged. Reads longer after a crash. */
export async function refuseDamage(directory: string): Promise<void> {
  if (!hasStore(directory) || livingPid(directory) !== null) return;
  checkStoreAccess(directory);
  const msMax = wasLeftLocked(directory) ? damageWalkAfterCrashMsMax : damageWalkMsMax;
  const walked = await walkStore(directory, msMax);
  if (walked.state === 'damaged') throw new StoreOpenError(`${walked.damage}: ${damageAdvice}`);
}
