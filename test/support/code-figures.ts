/**
 * Measures the size of the code, as docs/hacking.md explains: files, lines, the largest folder, values exported only for tests.
 *
 *   npm run -s figures
 */
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path/posix';
import { fileURLToPath } from 'node:url';
import { readSources, resolveImport, sourceFile, type SourceFile } from '../architecture/source-tree.ts';
import { checkout, readFromRoot } from './checkout.ts';

export interface LargestFolder {
  readonly folder: string;
  readonly files: number;
}

export function largestFolder(files: readonly SourceFile[]): LargestFolder {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  const [folder = '', count = 0] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
  return { folder, files: count };
}

const exportedValue =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|enum) +([\w$]+)/gm;

/**
 * `path: name` of each value (not type) that a file of `src/` exports and only files of `test/` import. Imports are matched as
 * text: a namespace or dynamic import counts as an import of every name. Exports of `*-worker.ts` are skipped: their thread
 * calls them by name.
 */
export function testOnlyExports(files: readonly SourceFile[]): string[] {
  const byTests = importedNames(files.filter(isTest));
  const byOthers = importedNames(files.filter((file) => !isTest(file)));
  return files
    .filter(({ path }) => path.startsWith('src/') && !path.endsWith('-worker.ts'))
    .flatMap(({ path, code }) =>
      Array.from(code.matchAll(exportedValue), ([, name = '']) => name)
        .filter((name) => imports(byTests, path, name) && !imports(byOthers, path, name))
        .map((name) => `${path}: ${name}`),
    );
}

function isTest({ path }: SourceFile): boolean {
  return path.startsWith('test/');
}

type ImportedNames = ReadonlyMap<string, ReadonlySet<string>>;

function imports(names: ImportedNames, path: string, name: string): boolean {
  return names.get(path)?.has(name) === true || names.get(path)?.has('*') === true;
}

const importForm =
  /^(?:import|export)\s+(?:type\s+)?(?:\{([^}]*)\}|\*(?:\s+as\s+\w+)?)\s*from\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

function importedNames(files: readonly SourceFile[]): ImportedNames {
  const names = new Map<string, Set<string>>();
  for (const { path, code } of files)
    for (const [, list, from, loaded] of code.matchAll(importForm)) {
      const target = resolveImport(path, from ?? loaded ?? '');
      if (target === null) continue;
      const found = names.get(target) ?? new Set();
      for (const name of list === undefined ? ['*'] : listedNames(list)) found.add(name);
      names.set(target, found);
    }
  return names;
}

/** Imported names: a, b and D for `a, b as c, type D`. */
function listedNames(list: string): string[] {
  return list
    .split(',')
    .map((entry) =>
      entry
        .trim()
        .replace(/^type /, '')
        .replace(/ as .*$/, ''),
    )
    .filter((name) => name !== '');
}

function readFolder(folder: string): SourceFile[] {
  return readdirSync(new URL(folder, checkout), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => sourceFile(folder + name, readFromRoot(folder + name)));
}

function testLines(): number {
  return readdirSync(new URL('test/', checkout), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFromRoot(`test/${name}`).split('\n').length - 1)
    .reduce((sum, lines) => sum + lines, 0);
}

function printSizes(): void {
  const sources = readSources();
  const { folder, files } = largestFolder(sources);
  const others = ['test/', 'bench/', 'docs/examples/'].flatMap(readFolder);
  const unused = testOnlyExports([...sources, ...others]);
  console.log(`files in src                            ${sources.length}`);
  console.log(
    `lines of code in src                    ${sources.reduce((sum, file) => sum + file.codeLines, 0)}`,
  );
  console.log(`files in the largest folder             ${files} (${folder})`);
  console.log(`lines in test                           ${testLines()}`);
  console.log(`exported values that only tests import  ${unused.length}`);
  for (const name of unused) console.log(`  ${name}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) printSizes();
