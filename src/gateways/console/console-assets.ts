/**
 * The files of the page. A build contains them; a server run from its sources builds them from `src/console` at the first
 * request, with the esbuild that tsx uses.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const consoleFiles = {
  'console.html': 'text/html; charset=utf-8',
  'console.css': 'text/css; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const;
export type ConsoleFile = keyof typeof consoleFiles;
const consoleFileNames = Object.keys(consoleFiles) as ConsoleFile[];

export type ConsoleAssets = Readonly<Record<ConsoleFile, string>>;

/** The sources, or in a build the built files. */
const folder = new URL('../../console/', import.meta.url);

export async function loadConsoleAssets(): Promise<ConsoleAssets> {
  const isBuilt = existsSync(new URL('console.js', folder));
  return isBuilt ? readFiles(folder) : buildOnce(folder);
}

async function readFiles(from: URL): Promise<ConsoleAssets> {
  const read = async (name: ConsoleFile): Promise<[ConsoleFile, string]> => [
    name,
    await readFile(new URL(name, from), 'utf8'),
  ];
  return Object.fromEntries(await Promise.all(consoleFileNames.map(read))) as Record<ConsoleFile, string>;
}

/** Stops esbuild's process afterwards, which a server no longer needs. */
async function buildOnce(sources: URL): Promise<ConsoleAssets> {
  const { stop } = await import('esbuild');
  try {
    return await buildConsole(sources);
  } finally {
    await stop();
  }
}

/** Bundles the modules of the folder into one script and one style sheet; also used for a build. */
export async function buildConsole(sources: URL): Promise<ConsoleAssets> {
  const { build } = await import('esbuild');
  const built = await build({
    entryPoints: ['main.ts', 'console.css'].map((name) => fileURLToPath(new URL(name, sources))),
    outdir: fileURLToPath(sources),
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome111', 'firefox114', 'safari16.4'],
    minify: true,
    legalComments: 'inline',
    logLevel: 'warning',
  });
  const textOf = (ending: string): string =>
    built.outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? '';
  return {
    'console.html': await readFile(new URL('console.html', sources), 'utf8'),
    'console.css': textOf('.css'),
    'console.js': textOf('.js'),
    'icon.svg': await readFile(new URL('icon.svg', sources), 'utf8'),
  };
}
