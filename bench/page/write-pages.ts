/** Writes the pages and plots that are made of the results. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkout } from '../../test/support/checkout.ts';
import { makePages } from './page.ts';

export async function writePages(): Promise<void> {
  for (const [path, text] of await makePages()) {
    const file = fileURLToPath(new URL(path, checkout));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
