/** Compiles the tree and runs main.ts and what it measures from there; help and the page need no build. */
import { readdirSync } from 'node:fs';
import { checkout } from '../test/support/checkout.ts';
import { runCompiled } from '../test/support/compiled-tree.ts';

/** The probe and the processes share a module with the requests to both. */
const bundled = readdirSync(new URL('bench/', checkout), { recursive: true, encoding: 'utf8' })
  .filter((path) => /(?:-process|[/\\]probe)\.ts$/.test(path))
  .map((path) => `bench/${path}`);

const args = process.argv.slice(2);
if (args.some((arg) => arg === '--help' || arg === '--page')) await import('./main.ts');
else process.exitCode = await runCompiled({ program: 'bench/main.ts', args, bundled });
