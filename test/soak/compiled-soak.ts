/** Runs a soak and its server from a build: with tsx each process and thread would need a CPU second to start. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileTree, makeFolder } from '../support/compiled-tree.ts';

/** Shares the frame counters of the server's worker, so both must be in one bundle. */
const leakingWorker = fileURLToPath(new URL('media/leaking-worker.ts', import.meta.url));

/** `args`: of main.ts. Resolves with the exit code. */
export async function runCompiled(args: readonly string[]): Promise<number> {
  const folder = makeFolder();
  try {
    if (!(await compileTree(folder, [leakingWorker]))) return 1;
    const file = join(folder, 'test', 'soak', 'main.js');
    const soak = spawn(process.execPath, ['--enable-source-maps', file, ...args], {
      stdio: 'inherit',
    });
    // The soak ends its own processes; the folder is removed after it.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => soak.kill(signal));
    const [code] = (await once(soak, 'close')) as [number | null];
    return code ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
