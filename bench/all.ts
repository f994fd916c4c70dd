/**
 * Measures every figure of docs/benchmarks.md in order, into bench/results, and makes the page of them.
 *
 *   npm run bench:all [-- name ...] [--fresh] [--smoke | --provisional]
 *
 * What was measured of this commit already is not measured again, so that a run that was stopped goes on. Results of another
 * commit are refused: `--fresh` removes them first. `--provisional` takes one run of each named figure, for a look, of whatever is
 * checked out, and marks it so. `--smoke` only proves that all of it runs, and writes nothing. Exits 1 when a figure failed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Figure } from './load/figure.ts';
import { makePages, resultsFolder } from './page/page.ts';
import { readResults, writeResult, type Result } from './page/results.ts';
import { writePages } from './page/write-pages.ts';

/** Runs of each, in order: as many as are needed for medians that stay, and about 80 minutes in all. */
const runsOf: Readonly<Record<string, number>> = {
  queries: 3,
  wakeups: 3,
  logins: 5,
  memory: 3,
  signal: 3,
  cores: 2,
  sessions: 1,
  rates: 2,
  registry: 2,
  backup: 1,
  webhooks: 3,
  calls: 2,
  media: 1,
  'media-calls': 1,
  sound: 1,
  'leg-transports': 1,
  hops: 1,
  heartbeats: 1,
  'busy-queries': 1,
  'dead-webhook': 1,
  hostile: 1,
  stream: 1,
  failover: 1,
  nodes: 1,
  storms: 1,
};

const { values: flags, positionals: wanted } = parseArgs({
  options: {
    fresh: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    provisional: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const unknown = wanted.find((name) => !Object.hasOwn(runsOf, name));
if (unknown !== undefined) throw new Error(`no such figure: ${unknown}`);

const scratch = mkdtempSync(join(tmpdir(), 'reveille-bench-all-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
const folder = flags.smoke ? join(scratch, 'results') : resultsFolder;
const commit = git('rev-parse', '--short=10', 'HEAD');

if (!flags.smoke && !flags.provisional) refuseMixing();
const before = readResults(folder);
const names = Object.keys(runsOf).filter((name) => wanted.length === 0 || wanted.includes(name));
const left = names.filter((name) => !isDone(before.get(name)));
console.log(`${left.length} of ${names.length} figures to measure of ${commit}; ${describeTime(left)}`);

const failed: string[] = [];
for (const [place, name] of left.entries()) {
  if (!measure(name)) failed.push(name);
  const rest = left.slice(place + 1);
  if (rest.length > 0) console.log(`  ${rest.length} left, ${describeTime(rest)}`);
}
if (flags.smoke) console.log(`${(await makePages(folder)).size} pages and plots can be made of it`);
else await writePages();
if (failed.length > 0) {
  console.error(`failed, and to be measured again: ${failed.join(', ')}`);
  process.exitCode = 1;
}

function refuseMixing(): void {
  const changed = git('status', '--porcelain', '--', '.', ':!bench/results', ':!docs');
  if (changed !== '') throw new Error(`what is measured has to be a commit; there are changes:\n${changed}`);
  if (flags.fresh) rmSync(resultsFolder, { recursive: true, force: true });
  const others = [...readResults(resultsFolder).values()].filter(
    (result) => !result.isProvisional && result.commit !== commit,
  );
  if (others.length > 0)
    throw new Error(
      `bench/results has figures of ${others[0]?.commit}, and this is ${commit}: --fresh removes them`,
    );
}

function isDone(result: Result | undefined): boolean {
  return !flags.provisional && result !== undefined && !result.isProvisional && result.commit === commit;
}

function runsFor(name: string): number {
  return flags.smoke || flags.provisional ? 1 : (runsOf[name] ?? 1);
}

/** In a process of its own. */
function measure(name: string): boolean {
  const runs = runsFor(name);
  const file = join(scratch, `${name}.json`);
  const load = fileURLToPath(new URL('load.ts', import.meta.url));
  const options = ['--runs', String(runs), '--json', file, ...(flags.smoke ? ['--smoke'] : [])];
  const startMs = performance.now();
  const { status, stdout } = spawnSync(process.execPath, ['--import', 'tsx', load, name, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  const seconds = (performance.now() - startMs) / 1000;
  console.log(
    `${name}: ${runs} run${runs === 1 ? '' : 's'}, ${seconds.toFixed(0)} s${status === 0 ? '' : ', FAILED'}`,
  );
  if (status !== 0) {
    console.error(stdout);
    return false;
  }
  const measured = JSON.parse(readFileSync(file, 'utf8')) as { machine: string; figures: [Figure] };
  const [figure] = measured.figures;
  const date = new Date().toISOString();
  const { machine } = measured;
  writeResult(folder, {
    commit,
    isProvisional: flags.provisional || flags.smoke,
    date,
    machine,
    runs,
    seconds,
    figure,
  });
  return true;
}

/** By what each took the last time. */
function describeTime(of: readonly string[]): string {
  const known = of.flatMap((name) => {
    const last = before.get(name);
    return last === undefined ? [] : [(last.seconds / last.runs) * runsFor(name)];
  });
  const minutes = Math.ceil(known.reduce((sum, seconds) => sum + seconds, 0) / 60);
  const unmeasured = of.length - known.length;
  if (unmeasured === of.length) return 'how long they take is not known yet';
  return `about ${minutes} minutes${unmeasured > 0 ? ` and those of which it is not known: ${unmeasured}` : ''}`;
}

function git(...parameters: string[]): string {
  return execFileSync('git', parameters, {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  }).trim();
}
