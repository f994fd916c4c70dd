/** Compiles the whole tree and bundles the entry points of processes and threads, as in a build: nothing is loaded through tsx. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
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

interface CompiledRun {
  /** From the root of the checkout. */
  readonly program: string;
  readonly args: readonly string[];
  /** Modules, from the root of the checkout, that are bundled beside those of the server. */
  readonly bundled: readonly string[];
}

/**
 * Runs a program and its servers from a compiled tree: with tsx each process and thread would need a CPU second to start. Resolves to
 * the exit code.
 */
export async function runCompiled({ program, args, bundled }: CompiledRun): Promise<number> {
  const folder = makeFolder();
  try {
    const modules = bundled.map((module) => join(root, module));
    if (!(await compileTree(folder, modules))) return 1;
    const file = join(folder, program.replace(/\.ts$/, '.js'));
    const child = spawn(process.execPath, ['--enable-source-maps', file, ...args], { stdio: 'inherit' });
    // The program ends its own processes; the folder is removed after it.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
    const [code] = (await once(child, 'close')) as [number | null];
    return code ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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
