/** A soak and its server as a build has them. Through tsx each process and thread would take a second of processor time to start. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileTree, makeFolder } from '../support/compiled-tree.ts';

/** It counts frames beside those that the server's worker counts, so both have to be one bundle. */
const leakingWorker = fileURLToPath(new URL('media/leaking-worker.ts', import.meta.url));

/** `args`: of main.ts. Resolves to the exit code. */
export async function runCompiled(args: readonly string[]): Promise<number> {
  const folder = makeFolder();
  try {
    if (!(await compileTree(folder, [leakingWorker]))) return 1;
    const file = join(folder, 'test', 'soak', 'main.js');
    const soak = spawn(process.execPath, ['--enable-source-maps', file, ...args], {
      stdio: 'inherit',
    });
    // The soak ends its processes, and the folder is removed behind it.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => soak.kill(signal));
    const [code] = (await once(soak, 'close')) as [number | null];
    return code ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
