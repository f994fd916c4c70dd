/**
 * The root of the checkout, and how a module is run as a process: the same whether the tests run as they
 * are written or as test/run.ts compiles them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The nearest folder above that has the dependencies: compiled tests lie below it too. Ends with a slash. */
export const checkout = rootAbove(new URL('./', import.meta.url));

function rootAbove(folder: URL): URL {
  return existsSync(new URL('node_modules', folder)) ? folder : rootAbove(new URL('../', folder));
}

/** The text of a file of the checkout, by its path from the root. */
export function readFromRoot(path: string): string {
  return readFileSync(new URL(path, checkout), 'utf8');
}

/** The arguments with which Node runs the module as a process. */
export function runArgs(module: URL): string[] {
  const file = fileURLToPath(module);
  return file.endsWith('.ts') ? ['--import', 'tsx', file] : [file];
}
