/** Compiles the soaks and the server, as a build is, and runs a soak: `npm run soak -- --help`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileTree, makeFolder } from '../support/compiled-tree.ts';

/** It counts frames beside those that the server's worker counts, so both have to be one bundle. */
const leakingWorker = fileURLToPath(new URL('media/leaking-worker.ts', import.meta.url));

async function main(): Promise<number> {
  const folder = makeFolder();
  try {
    if (!(await compileTree(folder, [leakingWorker]))) return 1;
    const file = join(folder, 'test', 'soak', 'main.js');
    const soak = spawn(process.execPath, ['--enable-source-maps', file, ...process.argv.slice(2)], {
      stdio: 'inherit',
    });
    // The soak ends its processes by them, and the folder is removed behind it.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => soak.kill(signal));
    const [code] = (await once(soak, 'close')) as [number | null];
    return code ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
