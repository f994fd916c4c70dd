/** Finds the root of the checkout, and runs a module as a process, whether tests run from source or compiled by test/run.ts. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The nearest parent folder with node_modules, since compiled tests lie below it too. Ends with a slash. */
export const checkout = rootAbove(new URL('./', import.meta.url));

function rootAbove(folder: URL): URL {
  return existsSync(new URL('node_modules', folder)) ? folder : rootAbove(new URL('../', folder));
}

/** Reads a file of the checkout. `path`: from its root. */
export function readFromRoot(path: string): string {
  return readFileSync(new URL(path, checkout), 'utf8');
}

/** Arguments for Node to run the module as a process. */
export function runArgs(module: URL): string[] {
  const file = fileURLToPath(module);
  return file.endsWith('.ts') ? ['--import', 'tsx', file] : [file];
}
