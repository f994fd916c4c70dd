/**
 * Simulates whole sites by seed, and reports the first seed that violates an invariant of docs/simulation.md:
 *
 *   npm run simulate:faults -- --seeds 200            seeds 1 to 200, on all CPUs
 *   npm run simulate:faults -- --seed 17 [--trace]    one seed; with its whole trace
 *   npm run simulate:faults -- --from 1000 --minutes 480
 *   npm run simulate:faults -- --canaries             every planted bug must be found
 *
 * `--topology alone|edges|nodes` applies to all seeds. Exits 1 on the first violation, and if nothing was checked.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { canaries, type Canary } from './canaries.ts';
import type { Checked } from './evidence.ts';
import { simulate, type RunResult } from './simulation.ts';
import type { Topology } from './site.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    topology: { type: 'string' },
    workers: { type: 'string' },
    canaries: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    share: { type: 'string' },
  },
});

const topology = (values.topology ?? null) as Topology | null;
const canarySeedsMax = 500;
const progressEvery = 100;

type RunReport = Omit<RunResult, 'checked'> & { readonly checked: readonly (readonly [Checked, number])[] };

/** Kinds that must be checked at least once. */
const wanted: readonly Checked[] = [
  'logins',
  'wakeups',
  'repeats',
  'settled wakeups',
  'queries',
  'events',
  'calls',
  'holders',
  'faults',
  'timers',
  'registry changes',
  'registry events',
  'kicks',
  'clocks set',
  'timeouts',
  'legs',
  'deliveries',
  'delivered events',
];

class Tally {
  readonly #startedMs = Date.now();
  readonly #checked = new Map<Checked, number>();
  #steps = 0;
  runs = 0;

  add({ checked, steps }: RunReport): void {
    for (const [what, times] of checked) this.#checked.set(what, (this.#checked.get(what) ?? 0) + times);
    this.#steps += steps;
    this.runs += 1;
  }

  get missing(): Checked[] {
    return wanted.filter((what) => (this.#checked.get(what) ?? 0) === 0);
  }

  toString(): string {
    const counts = wanted.map((what) => `${this.#checked.get(what) ?? 0} ${what}`).join(', ');
    const seconds = ((Date.now() - this.#startedMs) / 1000).toFixed(1);
    return `${this.runs} seeds in ${seconds} s, ${this.#steps} steps; checked ${counts}`;
  }
}

function report({ seed, topology: where, violation, trace }: RunReport, canary: Canary | null = null): void {
  console.log(trace.join('\n'));
  console.log(`\nseed ${seed} (${where}): ${violation ?? 'everything held'}`);
  const forced = topology === null ? '' : ` --topology ${topology}`;
  if (canary === null) console.log(`again: npm run simulate:faults -- --seed ${seed}${forced} --trace`);
}

function reportOf(result: RunResult): RunReport {
  return { ...result, checked: Array.from(result.checked) };
}

async function runOne(seed: number): Promise<number> {
  const outcome = reportOf(await simulate(seed, { topology, keepsAll: values.trace }));
  report(outcome);
  return outcome.violation === null ? 0 : 1;
}

/** Runs a worker's share, every `count`th seed, until it is killed or done. */
async function runShare(share: string): Promise<number> {
  const [index = 0, count = 1] = share.split('/').map(Number);
  const from = Number(values.from);
  const seeds = values.minutes === undefined ? Number(values.seeds) : Infinity;
  for (let offset = index; offset < seeds; offset += count) {
    const outcome = reportOf(await simulate(from + offset, { topology }));
    await new Promise<void>((resolve) => process.send?.(outcome, undefined, {}, () => resolve()));
  }
  return 0;
}

async function runAll(): Promise<number> {
  const count = Number(values.workers ?? availableParallelism());
  const tally = new Tally();
  const failed = await new Promise<RunReport | 'died' | null>((resolve) => {
    let left = count;
    const workers: ChildProcess[] = [];
    const end = (outcome: RunReport | 'died' | null): void => {
      for (const worker of workers) worker.kill();
      resolve(outcome);
    };
    for (let index = 0; index < count; index++) {
      const args = [...process.argv.slice(2), '--share', `${index}/${count}`];
      const worker = fork(fileURLToPath(import.meta.url), args);
      workers.push(worker);
      worker.on('message', (outcome: RunReport) => {
        tally.add(outcome);
        if (outcome.violation !== null) end(outcome);
        else if (tally.runs % progressEvery === 0) console.log(tally.toString());
      });
      worker.on('exit', (code) => {
        left -= 1;
        if (code !== null && code !== 0) end('died');
        else if (left === 0) end(null);
      });
    }
    if (values.minutes !== undefined) setTimeout(() => end(null), Number(values.minutes) * 60_000).unref();
  });
  if (failed === 'died') console.log('a worker died');
  else if (failed !== null) report(failed);
  console.log(tally.toString());
  const { missing } = tally;
  if (missing.length > 0) console.log(`nothing was checked of: ${missing.join(', ')}`);
  return failed === null && missing.length === 0 ? 0 : 1;
}

async function findCanaries(): Promise<number> {
  let missed = 0;
  const startedMs = Date.now();
  for (const canary of canaries) {
    const found = await findCanary(canary);
    if (found === null) missed += 1;
    console.log(
      found === null
        ? `NOT FOUND in ${canarySeedsMax} seeds: ${canary.name}`
        : `${canary.name}: found by seed ${found.seed} (${found.topology}), ${found.violation}`,
    );
  }
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
  console.log(`${canaries.length - missed} of ${canaries.length} canaries found in ${seconds} s`);
  return missed === 0 && canaries.length > 0 ? 0 : 1;
}

async function findCanary(canary: Canary): Promise<RunResult | null> {
  for (let seed = 1; seed <= canarySeedsMax; seed++) {
    const result = await simulate(seed, { topology, canary });
    if (result.violation !== null) return result;
  }
  return null;
}

async function main(): Promise<number> {
  if (values.canaries) return findCanaries();
  if (values.seed !== undefined) return runOne(Number(values.seed));
  if (values.share !== undefined) return runShare(values.share);
  return runAll();
}

process.exitCode = await main();
