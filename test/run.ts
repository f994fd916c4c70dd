/**
 * Runs the tests: every `*.test.ts` under `test/`, or under the files and folders given. The runner of Node 20
 * expands no patterns, takes an empty list for success and counts a file without a test as a passed one; so the
 * files are listed here, and what saw nothing fails. It gives every file a process, and loading our modules takes that
 * a second: files that need no process of their own (`together`) share one. Those that start servers start what
 * production runs: it is built first.
 *
 *   node --import tsx test/run.ts [--flag-of-node ...] [file or folder ...]
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith('-'));
const places = args.filter((arg) => !arg.startsWith('-'));
if (places.length === 0) places.push(fileURLToPath(new URL('.', import.meta.url)));

/** Folders whose files change nothing of their process; and how many of them go into one. */
const together = /[/\\]test[/\\](?:unit|property|protocol|conformance)[/\\]/;
const togetherMax = 40;
/** What is to happen around every test of a file would happen around those of the others. */
const aroundEach = /^(?:before|beforeEach|afterEach)\(/m;

/** Folders whose tests start servers and commands as processes. */
const starting = /[/\\]test[/\\](?:e2e|cluster|soak)[/\\]/;
const root = new URL('..', import.meta.url);

process.exitCode = await main();

async function main(): Promise<number> {
  const missing = places.filter((place) => !existsSync(place));
  if (missing.length > 0) return complain(`no such file or folder: ${missing.join(', ')}`, 2);
  const files = [...new Set(places.flatMap(testFiles))].sort();
  if (files.length === 0) return complain(`no *.test.ts under ${places.join(', ')}`, 1);
  const folder = mkdtempSync(join(tmpdir(), 'test-run-'));
  const report = join(folder, 'report.txt');
  const sharing = files.filter(isSharing);
  const alone = files.filter((file) => !sharing.includes(file));
  try {
    const code = await runNode([...alone, ...groupFiles(sharing, folder)], report);
    return code === 0 ? judge({ sharing, alone }, readFileSync(report, 'utf8')) : code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file given by name is a test whatever it is called. */
function testFiles(place: string): string[] {
  if (statSync(place).isFile()) return [resolve(place)];
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => resolve(place, path));
}

/** A file whose tests another one makes stands alone, for the runner to say whether it has any. */
function isSharing(file: string): boolean {
  if (!together.test(file)) return false;
  const text = readFileSync(file, 'utf8');
  return text.includes("from 'node:test'") && !aroundEach.test(text);
}

/** In place of files that go together: files that import them. */
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

/** Null: no test needs it. Fails with what the compiler says. */
function buildProgram(files: readonly string[]): string | null {
  if (!files.some((file) => starting.test(file))) return null;
  const { status, stdout } = spawnSync('npm', ['run', '-s', 'build'], { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`what is tested cannot be built: ${stdout}`);
  return fileURLToPath(new URL('dist/main.js', root));
}

/** Resolves to the runner's exit code. */
function runNode(files: readonly string[], report: string): Promise<number> {
  const reporters = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${new URL('support/seen-reporter.mjs', import.meta.url).href}`,
    `--test-reporter-destination=${report}`,
  ];
  const options = [
    '--import',
    'tsx',
    '--test',
    // One more than our smallest machine has processors: many tests wait for a while of theirs.
    '--test-concurrency=3',
    '--test-timeout=120000',
    ...reporters,
    ...flags,
  ];
  // Within another run the runner would report to that one instead of here.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const built = buildProgram(files);
  const tested = built === null ? env : { ...env, TESTED_MAIN: built };
  const runner = spawn(process.execPath, [...options, ...files], { stdio: 'inherit', env: tested });
  return new Promise((done, fail) => {
    runner.on('error', fail);
    runner.on('close', (code, signal) => done(code ?? complain(`the runner was ended by ${signal}`, 1)));
  });
}

/** A run that passed: whether it saw anything. `report`: what seen-reporter.mjs has written. */
function judge({ sharing, alone }: Record<'sharing' | 'alone', string[]>, report: string): number {
  const { passed, ...said } = JSON.parse(report) as { passed: number; seen: string[]; empty: string[] };
  const seen = new Set(said.seen.map((file) => resolve(file)));
  const named = new Set(said.empty.map((file) => resolve(file)));
  // Where tests are chosen by a flag, a file may well have none of them.
  const isChosen = flags.some((flag) => /^--test-(?:name-pattern|only|skip-pattern)/.test(flag));
  const without = [...sharing.filter((file) => !seen.has(file)), ...alone.filter((file) => named.has(file))];
  const empty = isChosen ? [] : without;
  if (empty.length > 0) return complain(`no test in ${empty.join(', ')}`, 1);
  return passed === 0 ? complain(`no test ran in ${sharing.length + alone.length} files`, 1) : 0;
}

function complain(message: string, code: number): number {
  console.error(`test/run.ts: ${message}`);
  return code;
}
