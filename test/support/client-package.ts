/**
 * Builds the npm package of the client alone, `reveille-client`, from the client's sources: without dependencies and without
 * the server. It is not built by `prepack`, because `.npmrc` disables scripts and npm then packs nothing without a warning.
 *
 *   node --import tsx test/support/client-package.ts FOLDER
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Format } from 'esbuild';
import { checkout } from './checkout.ts';

const root = fileURLToPath(checkout);
const entry = 'src/client/reveille-client.ts';

interface Build {
  readonly folder: string;
  readonly format: Format;
  /** Module kind of the folder's files, for Node and TypeScript. */
  readonly type: 'module' | 'commonjs';
}
const builds: readonly Build[] = [
  { folder: 'esm', format: 'esm', type: 'module' },
  { folder: 'cjs', format: 'cjs', type: 'commonjs' },
];

const documents: Readonly<Record<string, string>> = {
  'README.md': 'docs/client.md',
  'signing.md': 'docs/signing.md',
  'signing-vectors.json': 'test/protocol/tgv1-vectors.json',
  LICENSE: 'LICENSE',
};

const typesOf = (folder: string): string => `./${folder}/types/client/reveille-client.d.ts`;
const codeOf = (folder: string): string => `./${folder}/reveille-client.js`;

function manifest(): object {
  const { version, license } = readJson('package.json');
  const conditions = { import: 'esm', require: 'cjs' };
  return {
    name: 'reveille-client',
    version,
    description: 'A typed client for the REST API of Reveille, which wakes sleeping devices',
    license,
    type: 'module',
    sideEffects: false,
    // It loads no native module, so it supports more versions of Node than the server.
    engines: { node: '>=20.12' },
    // For resolvers without support for `exports`.
    main: codeOf('cjs'),
    types: typesOf('cjs'),
    exports: {
      '.': Object.fromEntries(
        Object.entries(conditions).map(([condition, folder]) => [
          condition,
          { types: typesOf(folder), default: codeOf(folder) },
        ]),
      ),
      './signing-vectors.json': './signing-vectors.json',
      './package.json': './package.json',
    },
  };
}

/** Empties `folder` and writes the package into it. Throws when it does not compile, after the compiler has printed why. */
export async function writeClientPackage(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const bundled = new Set<string>();
  for (const each of builds) for (const name of await writeCode(folder, each)) bundled.add(name);
  writeTypes(folder);
  for (const [name, source] of Object.entries(documents))
    copyFileSync(join(root, source), join(folder, name));
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), [...bundled].sort().map(licenseOf).join('\n'));
  writeJson(join(folder, 'package.json'), manifest());
}

/** Bundles the code. Resolves to the names of the packages that were bundled. */
async function writeCode(folder: string, { folder: inner, format, type }: Build): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outdir: join(folder, inner),
    bundle: true,
    format,
    platform: 'node',
    target: 'node20.12',
    metafile: true,
    logLevel: 'warning',
  });
  writeJson(join(folder, inner, 'package.json'), { type });
  return Object.keys(metafile.inputs).flatMap((path) => {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
    return name === undefined ? [] : [name];
  });
}

/** Writes the declarations of the entry and of its imports, once for each module kind. */
function writeTypes(folder: string): void {
  const project = join(folder, 'tsconfig.json');
  const outDir = join(folder, 'types');
  const compilerOptions = {
    noEmit: false,
    emitDeclarationOnly: true,
    declaration: true,
    rootDir: join(root, 'src'),
    outDir,
    typeRoots: [join(root, 'node_modules', '@types')],
  };
  writeJson(project, {
    extends: join(root, 'tsconfig.json'),
    compilerOptions,
    include: [],
    files: [join(root, entry)],
  });
  const compiler = join(root, 'node_modules', '.bin', 'tsc');
  execFileSync(compiler, ['-p', project], { stdio: ['ignore', 'inherit', 'inherit'] });
  for (const { path, text } of declarationsIn(outDir))
    for (const { folder: inner } of builds) writeDeclaration(join(folder, inner, 'types', path), text);
  for (const made of [project, outDir]) rmSync(made, { recursive: true });
}

function declarationsIn(folder: string): { path: string; text: string }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.d.ts'))
    .map((path) => ({ path, text: readFileSync(join(folder, path), 'utf8') }));
}

/** Removes `.ts` from imports, which compilers before TypeScript 5 reject. */
function writeDeclaration(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text.replaceAll(/(from '\.[^']*|import\('\.[^']*)\.ts'/g, "$1.js'"));
}

function licenseOf(name: string): string {
  const folder = join(root, 'node_modules', name);
  const file = readdirSync(folder).find((found) => /^licen[cs]e/i.test(found));
  if (file === undefined) throw new Error(`${name} is part of the client and has no license file`);
  const { version } = readJson(join('node_modules', name, 'package.json'));
  return `${name} ${String(version)}\n\n${readFileSync(join(folder, file), 'utf8')}`;
}

function readJson(path: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as Record<string, unknown>;
}

function writeJson(file: string, value: object): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

const [folder] = process.argv.slice(2);
if (process.argv[1] === fileURLToPath(import.meta.url) && folder !== undefined)
  await writeClientPackage(resolve(folder));
