/** Damage of a store: found by a walk in another process, which a damaged file may end. */
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

/** What a walk has found: a sentence that names the damaged file; else whether all was read, or some of it. */
export type StoreWalk =
  { readonly state: 'whole' | 'partly read' } | { readonly state: 'damaged'; readonly damage: string };

/** Signals that a process gets for what it reads; of any other one the store knows nothing: somebody stopped the walk. */
const faultSignals: ReadonlySet<string | null> = new Set([
  'SIGSEGV',
  'SIGBUS',
  'SIGABRT',
  'SIGFPE',
  'SIGILL',
  'SIGTRAP',
]);

/**
 * `msMax`: a bound of the reading. What keeps the files from being opened at all is said by whoever opens them, and a
 * machine that can start no other process has its store read by nobody. Holds the directory's lock, so that no server opens
 * the files meanwhile. Rejects with a StoreOpenError where another process has it.
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
    // A disk that does not answer is waited for by who opens the store, not here.
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

/** `said`: the walker's lines; `signal`: by which it ended. */
export function judgeWalk(directory: string, said: string, signal: string | null): StoreWalk {
  const file = said.match(/^\S+\.mdb$/gm)?.at(-1);
  const error = /^error (.*)$/m.exec(said)?.[1];
  const reason = faultSignals.has(signal) ? `reading it ends a process with ${signal}` : error;
  if (file === undefined || reason === undefined)
    return { state: /^whole$/m.test(said) ? 'whole' : 'partly read' };
  return { state: 'damaged', damage: `the store's file ${join(directory, file)} is damaged: ${reason}` };
}

/** Before a start opens the store: throws a StoreOpenError where it is damaged, and looks longer where a crash left it. */
export async function refuseDamage(directory: string): Promise<void> {
  if (!hasStore(directory) || livingPid(directory) !== null) return;
  checkStoreAccess(directory);
  const msMax = wasLeftLocked(directory) ? damageWalkAfterCrashMsMax : damageWalkMsMax;
  const walked = await walkStore(directory, msMax);
  if (walked.state === 'damaged') throw new StoreOpenError(`${walked.damage}: ${damageAdvice}`);
}
