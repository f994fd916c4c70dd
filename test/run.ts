/**
 * Runs the tests: every `*.test.ts` under `test/` except the suites that need more than Node (suites.ts), or all under the
 * given files and folders. The runner of Node 20 expands no patterns, takes an empty list for success and counts a file without
 * a test as passed; so this file lists the files, and a run or file without a test fails.
 *
 * Each file gets a process. Loading our modules through tsx would cost each process 3 s of CPU time, more than most tests; so
 * the tree is compiled first, which takes 2 s. Processes and threads are bundled as in a build, which halves their start time,
 * and files that need no process of their own (`together`) share one. Files outside the checkout run uncompiled.
 *
 *   node --import tsx test/run.ts [--flag-of-node ...] [file or folder ...]
 */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compileTree, makeFolder } from './support/compiled-tree.ts';
import { suiteFolders } from './suites.ts';

const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith('-'));
const places = args.filter((arg) => !arg.startsWith('-'));
const isDefault = places.length === 0;
if (isDefault) places.push(fileURLToPath(new URL('.', import.meta.url)));

/**
 * Folders whose files leave their process unchanged and finish quickly; and the number of files per process. The time limit of
 * a file applies to the whole group, so long walks (`test/property`) get a process each.
 */
const together = /[/\\]test[/\\](?:unit|protocol|conformance)[/\\]/;
const togetherMax = 24;
/** A hook around each test of one file would also run around the tests of the other files in the group. */
const aroundEach = /^(?:before|beforeEach|afterEach)\(/m;

const root = fileURLToPath(new URL('..', import.meta.url));

async function main(): Promise<number> {
  const missing = places.filter((place) => !existsSync(place));
  if (missing.length > 0) return complain(`no such file or folder: ${missing.join(', ')}`, 2);
  const files = [...new Set(places.flatMap(testFiles))].sort();
  if (files.length === 0) return complain(`no *.test.ts under ${places.join(', ')}`, 1);
  const folder = makeFolder();
  const report = join(folder, 'report.txt');
  const isOurs = files.every((file) => file.startsWith(root));
  try {
    const sharing = files.filter(isSharing);
    const alone = files.filter((file) => !sharing.includes(file));
    if (isOurs && !(await compileTree(folder, alone)))
      return complain('what is tested cannot be compiled', 1);
    const run = (file: string): string =>
      isOurs ? join(folder, relative(root, file).replace(/\.ts$/, '.js')) : file;
    const code = await runNode([...alone.map(run), ...groupFiles(sharing.map(run), folder)], report, isOurs);
    if (code !== 0) return code;
    const { passed, seen, empty, took } = JSON.parse(readFileSync(report, 'utf8')) as Report;
    if (isDefault) printSlowest(took);
    const named = (file: string): boolean => empty.includes(run(file));
    const without = [...sharing.filter((file) => !seen.includes(file)), ...alone.filter(named)];
    return judge(passed, without);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function testFiles(place: string): string[] {
  if (statSync(place).isFile()) return [resolve(place)];
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => resolve(place, path))
    .filter((file) => !isDefault || !suiteFolders.includes(dirname(file)));
}

/** A file whose tests are defined by another file gets its own process, so that the runner can report if it has any. */
function isSharing(file: string): boolean {
  if (!together.test(file)) return false;
  const text = readFileSync(file, 'utf8');
  return text.includes("from 'node:test'") && !aroundEach.test(text);
}

/** Writes files that import the files of a group. */
function groupFiles(sharing: readonly string[], folder: string): string[] {
  const groups: string[] = [];
  for (let from = 0; from < sharing.length; from += togetherMax) {
    const imports = sharing
      .slice(from, from + togetherMax)
      .map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`);
    const group = join(folder, `group-${groups.length}.test.mjs`);
    writeFileSync(group, imports.join(''));
    groups.push(group);
  }
  return groups;
}

/** Runs the files. Resolves to the runner's exit code. */
function runNode(files: readonly string[], report: string, isCompiled: boolean): Promise<number> {
  const reporters = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${new URL('support/seen-reporter.mjs', import.meta.url).href}`,
    `--test-reporter-destination=${report}`,
  ];
  const options = [
    ...(isCompiled ? ['--enable-source-maps'] : ['--import', 'tsx']),
    '--test',
    // One more than the CPUs of our smallest machine, since many tests mostly wait.
    '--test-concurrency=3',
    // Only for hangs, per file; a script of package.json raises it for long files.
    '--test-timeout=300000',
    ...reporters,
    ...flags,
  ];
  // Inside another run, the runner would report to that run instead of here.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const runner = spawn(process.execPath, [...options, ...files], { stdio: 'inherit', env });
  // The runner stops on the signal as well, and the compiled tree is removed.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => runner.kill(signal));
  return new Promise((done, fail) => {
    runner.on('error', fail);
    runner.on('close', (code, signal) => done(code ?? complain(`the runner was ended by ${signal}`, 1)));
  });
}

/** The report of seen-reporter.mjs. A file with tests is named by its source, one without by the file that was run. */
interface Report {
  readonly passed: number;
  readonly seen: readonly string[];
  readonly empty: readonly string[];
  /** Files with the milliseconds of their tests. */
  readonly took: readonly (readonly [file: string, ms: number])[];
}

/** Number of slowest files that a full run prints with their seconds. */
const slowestShown = 20;

function printSlowest(took: Report['took']): void {
  console.log('slowest files, seconds:');
  for (const [file, ms] of took.toSorted(([, one], [, other]) => other - one).slice(0, slowestShown))
    console.log(`${(ms / 1000).toFixed(1).padStart(7)} ${relative(root, file)}`);
}

/** The exit code of a run that passed; a run without tests fails. `without`: files that had no test. */
function judge(passed: number, without: readonly string[]): number {
  // When a flag selects tests, a file may have none of them.
  const isChosen = flags.some((flag) => /^--test-(?:name-pattern|only|skip-pattern)/.test(flag));
  if (without.length > 0 && !isChosen) return complain(`no test in ${without.join(', ')}`, 1);
  return passed === 0 ? complain('no test ran', 1) : 0;
}

function complain(message: string, code: number): number {
  console.error(`test/run.ts: ${message}`);
  return code;
}

// Last, since it runs while this file is loaded and uses the declarations above.
process.exitCode = await main();
