/**
 * Bundles the entry points of processes and threads: loading modules one by one is most of the start time of a command or a
 * thread. Each entry in the compiled tree is replaced by a line that exports its bundle.
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

/** Entry points under `src/`, without extension. A module missing here runs unbundled. */
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

/** Packages that stay outside the bundles: those with native code, those that read files of their own, and optional ones. */
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

/** All bundles lie in one folder, so that the relative path to a module's place is the same from each. */
const bundles = 'bundles';

/** `folder`: output of the compiler for `src/`. Rejects when a module cannot be bundled, after esbuild has printed why. */
export async function bundle(folder: string): Promise<void> {
  await Promise.all([bundleTree(source, entries, folder), writeConsole(join(folder, 'console'))]);
}

async function writeConsole(folder: string): Promise<void> {
  const files = await buildConsole(new URL('src/console/', checkout));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** Bundles tests that run in a process of their own. `tests`: files of the checkout; `folder`: compiler output. */
export function bundleTests(tests: readonly string[], folder: string): Promise<void> {
  const modules = tests.map((file) => relative(root, file).replace(/\.ts$/, ''));
  return bundleTree(root, modules, folder);
}

/** `tree`: source folder, compiled to `folder`; `modules`: paths below it, without extension. */
async function bundleTree(tree: string, modules: readonly string[], folder: string): Promise<void> {
  await build({
    entryPoints: modules.map((entry) => ({ in: join(tree, `${entry}.ts`), out: bundleName(entry) })),
    outdir: join(folder, bundles),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.12',
    // CommonJS packages load Node's modules with require().
    banner: {
      js: "import { createRequire as requireOfBundle } from 'node:module';\nconst require = requireOfBundle(import.meta.url);",
    },
    external,
    plugins: [keepPlaces(tree), englishOnly],
    // Shorter code loads faster; names stay, for stack traces.
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

/** Removes zod's translations into fifty languages, which were half of the code that a command loads. */
const englishOnly: Plugin = {
  name: 'english-only',
  setup(built) {
    built.onLoad({ filter: /[/\\]zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/** Rewrites the position of each module, so that it still finds the files in its own folder after bundling. */
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
