/**
 * The files of the page as the listener sends them. A build has them beside its other modules; run from its sources the
 * server makes them of `src/console` when the page is first asked for, with the esbuild that tsx runs on.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export interface ConsoleAsset {
  readonly contentType: string;
  readonly body: string;
  /** As it stands in the header, in quotes. */
  readonly etag: string;
}

/** By the path it is asked for. */
export type ConsoleAssets = ReadonlyMap<string, ConsoleAsset>;

const names = ['console.html', 'console.css', 'console.js'] as const;
type FileName = (typeof names)[number];

const contentTypes: Readonly<Record<FileName, string>> = {
  'console.html': 'text/html; charset=utf-8',
  'console.css': 'text/css; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
};

/** Of the sources, and in a build of what was made of them. */
const folder = new URL('../../console/', import.meta.url);

/** Rejects when they cannot be read or made. */
export async function loadConsoleAssets(): Promise<ConsoleAssets> {
  const isBuilt = existsSync(new URL('console.js', folder));
  const texts = isBuilt ? await readFiles(folder) : await buildOnce(folder);
  return new Map(names.map((name) => [pathOf(name), assetOf(contentTypes[name], texts[name])]));
}

function pathOf(name: FileName): string {
  return name === 'console.html' ? '/console' : `/console/${name}`;
}

function assetOf(contentType: string, body: string): ConsoleAsset {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22);
  return { contentType, body, etag: `"${hash}"` };
}

async function readFiles(from: URL): Promise<Record<FileName, string>> {
  const read = async (name: FileName): Promise<[FileName, string]> => [
    name,
    await readFile(new URL(name, from), 'utf8'),
  ];
  return Object.fromEntries(await Promise.all(names.map(read))) as Record<FileName, string>;
}

/** Ends the process of esbuild, which is of no more use to a server. */
async function buildOnce(sources: URL): Promise<Record<FileName, string>> {
  const { stop } = await import('esbuild');
  try {
    return await buildConsole(sources);
  } finally {
    await stop();
  }
}

/** One script and one style of all modules in the folder; `src/console`, also for a build. */
export async function buildConsole(sources: URL): Promise<Record<FileName, string>> {
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
  };
}
