/** Compiles the whole tree and bundles the entry points of processes and threads, as in a build: nothing is loaded through tsx. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle, bundleTests } from './bundle.ts';
import { checkout } from './checkout.ts';

const root = fileURLToPath(checkout);
/** Below the root of the checkout, whose dependencies and package.json it shares. */
const compiledRoot = join(root, '.test-build');

export function makeFolder(): string {
  mkdirSync(compiledRoot, { recursive: true });
  return mkdtempSync(join(compiledRoot, 'run-'));
}

/**
 * `folder`: of `makeFolder`. `bundled`: test files that run in a process of their own. Resolves to false when the compiler
 * fails, after it has printed why. Types are checked by `npm run types`.
 */
export async function compileTree(folder: string, bundled: readonly string[]): Promise<boolean> {
  if (!compile(folder)) return false;
  await Promise.all([bundle(join(folder, 'src')), bundleTests(bundled, folder)]);
  return true;
}

function compile(folder: string): boolean {
  const compiler = join(root, 'node_modules', '.bin', 'tsc');
  const options = ['--noEmit', 'false', '--noCheck', '--sourceMap', '--rootDir', root, '--outDir', folder];
  const { status } = spawnSync(compiler, ['-p', join(root, 'tsconfig.json'), ...options], {
    stdio: 'inherit',
  });
  mkdirSync(join(folder, 'docs'), { recursive: true });
  // Read at run time: the version, the binary for Node 24, and the rows of the alarms.
  for (const name of ['package.json', 'deploy', 'docs/alerts.md'])
    symlinkSync(join(root, name), join(folder, name));
  // The examples import the package's exports by name.
  symlinkSync(join(folder, 'src'), join(folder, 'dist'));
  return status === 0;
}
