/**
 * Bundles what runs as a process or a thread of its own: read one by one, our modules and those of packages are most of
 * what a command costs, and a thread's start. An entry's place in the compiled tree gets a line that exports its bundle.
 *
 *   node --import tsx test/support/bundle.ts FOLDER
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { buildConsole } from '../../src/gateways/console/console-assets.ts';
import { checkout } from './checkout.ts';

const root = fileURLToPath(checkout);
const source = join(root, 'src');

/** Modules under `src/`, without extension. One that is missing here runs as it was compiled. */
const entries = [
  'main',
  'edge/process/main',
  'media/process/main',
  'media/transcoding/transcoder-worker',
  'storage/lmdb/store-walker',
  'storage/registry/registry-worker',
  'gateways/fronts/front-worker',
  'gateways/verification/hmac-worker',
  'webhooks/worker/webhook-worker',
];

/** Packages with compiled code, with files of theirs that they look for, or that may be missing. */
const external = [
  'esbuild',
  'lmdb',
  'msgpackr',
  'node-av',
  'oxc-parser',
  'piscina',
  'recheck',
  'tsx',
  'uWebSockets.js',
];

/** All files of bundles lie side by side in it, so the way from any of them to a module's place is the same. */
const bundles = 'bundles';

/** `folder`: where the compiler has written `src/`. Rejects when a module cannot be bundled; esbuild has said why. */
export async function bundle(folder: string): Promise<void> {
  await Promise.all([bundleTree(source, entries, folder), writeConsole(join(folder, 'console'))]);
}

/** The page for operators, which a server sends from beside its other modules. */
async function writeConsole(folder: string): Promise<void> {
  const files = await buildConsole(new URL('src/console/', checkout));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** The same for tests that have a process each. `tests`: files of the checkout; `folder`: where it was compiled to. */
export function bundleTests(tests: readonly string[], folder: string): Promise<void> {
  const modules = tests.map((file) => relative(root, file).replace(/\.ts$/, ''));
  return bundleTree(root, modules, folder);
}

/** `tree`: a folder of sources that was compiled to `folder`; `modules`: below it, without extension. */
async function bundleTree(tree: string, modules: readonly string[], folder: string): Promise<void> {
  await build({
    entryPoints: modules.map((entry) => ({ in: join(tree, `${entry}.ts`), out: bundleName(entry) })),
    outdir: join(folder, bundles),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.12',
    // Packages written for require() ask for Node's modules by it.
    banner: {
      js: "import { createRequire as requireOfBundle } from 'node:module';\nconst require = requireOfBundle(import.meta.url);",
    },
    external,
    plugins: [keepPlaces(tree), englishOnly],
    // What is shorter is read faster; names stay, for stacks.
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: true,
    legalComments: 'linked',
    logLevel: 'warning',
  });
  for (const entry of modules) {
    const up = '../'.repeat(entry.split('/').length - 1) || './';
    const isProgram = entry === 'main';
    const bang = isProgram ? '#!/usr/bin/env node\n' : '';
    const line = `${bang}export * from '${up}${bundles}/${bundleName(entry)}.js';\n`;
    const file = join(folder, `${entry}.js`);
    writeFileSync(file, line);
    if (isProgram) chmodSync(file, 0o755);
  }
}

/** zod has its words in fifty languages, which were half of what a command reads. Ours are in English. */
const englishOnly: Plugin = {
  name: 'english-only',
  setup(built) {
    built.onLoad({ filter: /[/\\]zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/** A module finds what lies beside it from its own place in the tree, whichever file it has become part of. */
function keepPlaces(tree: string): Plugin {
  return {
    name: 'keep-places',
    setup(built) {
      built.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const place = relative(tree, path).replace(/\.ts$/, '.js');
        const text = await readFile(path, 'utf8');
        const contents = text.replaceAll('import.meta.url', `new URL('../${place}', import.meta.url).href`);
        return { contents, loader: 'ts' };
      });
    },
  };
}

function bundleName(entry: string): string {
  return entry.replaceAll('/', '-');
}

const [folder] = process.argv.slice(2);
if (process.argv[1] === fileURLToPath(import.meta.url) && folder !== undefined) await bundle(folder);
