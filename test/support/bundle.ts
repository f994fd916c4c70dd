/**
 * Bundles the entry points of processes and threads: loading modules one by one is most of the start time of a command or a
 * thread. Each entry in the compiled tree is replaced by lines that export or run its bundle.
 *
 *   node --import tsx test/support/bundle.ts FOLDER
 */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { buildConsole } from '../../src/gateways/console/console-assets.ts';
import { checkout } from './checkout.ts';

const root = fileURLToPath(checkout);
const source = join(root, 'src');

/** Entry points under `src/`, without extension. A module missing here runs unbundled. */
const entries = [
  'edge/process/main',
  'media/transcoding/transcoder-worker',
  'storage/registry/registry-worker',
  'gateways/fronts/front-worker',
  'gateways/verification/hmac-worker',
];

/**
 * Entry points of a start, each in one script, for which V8 keeps what it compiled (run-bundle.mjs) if they run for long enough.
 * They export nothing and have no await outside functions.
 */
const programs = [
  'main',
  'media/process/main',
  'storage/lmdb/store-walker',
  'webhooks/worker/webhook-worker',
];

/** Packages that stay outside the bundles: those that read files of their own, and optional ones. */
const external = ['esbuild', 'node-av', 'oxc-parser', 'piscina', 'recheck', 'tsx', 'uWebSockets.js'];

/** All bundles lie in one folder, so that the relative path to a module's place is the same from each. */
const bundles = 'bundles';

/** `folder`: output of the compiler for `src/`. Rejects when a module cannot be bundled, after esbuild has printed why. */
export async function bundle(folder: string): Promise<void> {
  await Promise.all([
    bundleTree(source, entries, folder),
    bundlePrograms(folder),
    writeConsole(join(folder, 'console')),
  ]);
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
    ...commonOptions(tree, modules, folder),
    splitting: true,
    format: 'esm',
    // CommonJS packages load Node's modules with require().
    banner: {
      js: `import { createRequire as requireOfBundle } from 'node:module';\nconst require = requireOfBundle(import.meta.url);${placeOfPackage}`,
    },
  });
  for (const entry of modules)
    writeEntry(folder, entry, (up) => `export * from '${up}${bundles}/${bundleName(entry)}.js';\n`);
}

async function bundlePrograms(folder: string): Promise<void> {
  const { metafile } = await build({
    // Functions from V8's code cannot import.
    ...commonOptions(source, programs, folder, 'importPackage'),
    format: 'cjs',
    // V8 recognizes the code of another bundle by its length only, so each has a name of its own.
    entryNames: '[name]-[hash]',
    outExtension: { '.js': '.cjs' },
    metafile: true,
    banner: {
      js: `const placeOfBundle = require('node:url').pathToFileURL(__filename).href;${placeOfPackage}`,
    },
    // Only a checkout resolves.
    define: { 'import.meta.url': 'placeOfBundle', 'import.meta.resolve': 'undefined' },
  });
  copyFileSync(new URL('run-bundle.mjs', import.meta.url), join(folder, bundles, 'run-bundle.js'));
  for (const [output, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint === undefined) continue;
    const entry = relative(source, resolve(entryPoint)).replace(/\.ts$/, '');
    const bang = entry === 'main' ? '#!/usr/bin/env node\n' : '';
    const runs = `runBundle('${basename(output)}');\n`;
    writeEntry(
      folder,
      entry,
      (up) => `${bang}import { runBundle } from '${up}${bundles}/run-bundle.js';\n${runs}`,
    );
  }
  chmodSync(join(folder, 'main.js'), 0o755);
}

function commonOptions(tree: string, modules: readonly string[], folder: string, importer = 'import') {
  return {
    entryPoints: modules.map((entry) => ({ in: join(tree, `${entry}.ts`), out: bundleName(entry) })),
    outdir: join(folder, bundles),
    bundle: true,
    platform: 'node',
    target: 'node20.12',
    external,
    plugins: [keepPlaces(tree, importer), findBinaries, englishOnly],
    // Shorter code loads faster; names stay, for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    sourcemap: true,
    legalComments: 'linked',
    logLevel: 'warning',
  } as const satisfies BuildOptions;
}

/** `line`: of the entry in the compiled tree; `up`: its path from the entry to the tree. */
function writeEntry(folder: string, entry: string, line: (up: string) => string): void {
  writeFileSync(join(folder, `${entry}.js`), line('../'.repeat(entry.split('/').length - 1) || './'));
}

/** Position of a package's main module when the bundle runs. */
const placeOfPackage =
  "const placeOfPackage = (name) => require('node:url').pathToFileURL(require.resolve(name)).href;";

/** Has packages with native code find their binaries from their own folder, where these stay. */
const findBinaries: Plugin = {
  name: 'find-binaries',
  setup(built) {
    built.onLoad({ filter: /[/\\]node_modules[/\\](?:lmdb|msgpackr)[/\\][^/\\]+\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: text.replaceAll('import.meta.url', `placeOfPackage('${basename(dirname(path))}')`) };
    });
  },
};

/** Removes zod's translations into fifty languages, which were half of the code that a command loads. */
const englishOnly: Plugin = {
  name: 'english-only',
  setup(built) {
    built.onLoad({ filter: /[/\\]zod[/\\]v4[/\\]locales[/\\]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/** An import of a package that loads it later. */
const packageImport = /(?<!typeof )\bimport\('(?!\.)/g;

/**
 * Rewrites the position of each module, so that it still finds the files in its own folder after bundling. `importer`: the function
 * that imports packages.
 */
function keepPlaces(tree: string, importer: string): Plugin {
  return {
    name: 'keep-places',
    setup(built) {
      built.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const place = relative(tree, path).replace(/\.ts$/, '.js');
        const text = await readFile(path, 'utf8');
        const contents = text
          .replace(/^#!.*/, '')
          .replaceAll('import.meta.url', `new URL('../${place}', import.meta.url).href`)
          .replaceAll(packageImport, `${importer}('`);
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
