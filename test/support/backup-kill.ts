/** A backup, a restore or a verification that is killed at a point of its progress, by handshake. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { moduleBeside } from '../../src/lib/module-worker.ts';
import { runArgs } from './checkout.ts';

const killed = runArgs(moduleBeside('../e2e/backup-kill-process', import.meta.url));

/** Kills what `verb` says where it has stopped: in a phase, with so much done. `places`: the data directory and the file. */
export async function killIn(
  verb: string,
  at: readonly [phase: string, done: number],
  ...places: string[]
): Promise<void> {
  const child = spawn(process.execPath, [...killed, verb, at[0], String(at[1]), ...places], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  assert.equal(said.toString(), 'stopped\n');
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  assert.deepEqual(await gone, [null, 'SIGKILL']);
}
