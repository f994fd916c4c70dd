/** Checks of the console's page: accessibility with axe, overflow, and screenshots. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Chromium } from '../support/chromium.ts';

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** The faults that axe finds in the current page, one line each. */
export async function complaints(browser: Chromium): Promise<string[]> {
  await browser.evaluate(`typeof axe === 'undefined' && (() => { ${axe} })(), 0`);
  const found = await browser.evaluate<readonly Violation[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ target, failureSummary }) => ({ target, failureSummary })) })))`,
  );
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
  );
}

/** Width of the page beyond the right edge of the window, pixels. */
export const overflow =
  '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.documentElement)';

/** Pictures in docs/console.md, renewed by `PICTURES=docs/images npm run test:with -- console`. */
const documented: ReadonlySet<string> = new Set(['overview', 'device', 'narrow', 'call']);

/** Limited to 256 colours, to keep the file small. */
export async function keepPicture(
  t: { diagnostic(text: string): void },
  browser: Chromium,
  name: string,
): Promise<void> {
  const folder = documented.has(name) ? process.env['PICTURES'] : undefined;
  const file = join(folder ?? tmpdir(), `console-${name}.png`);
  await sharp(await browser.screenshot())
    .png({ palette: true })
    .toFile(file);
  t.diagnostic(`the page, as it was seen: ${file}`);
}
