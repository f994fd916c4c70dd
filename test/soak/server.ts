/**
 * Loads a server of several processes for a while with all that it does, upgrades it meanwhile, and judges the trend of
 * everything that its processes hold and of how long things take.
 *
 *   npm run soak [-- --minutes 60] [--upgrade-every 10] [--shared] [--leak memory,descriptor,timer] [--samples FILE] [--report]
 *   npm run soak -- --judge --samples FILE [--report]
 *
 * Prints a line each half minute, and in the end what is wrong; exits 1 with any of it. `--samples` keeps the samples, `--judge`
 * judges those of a former run, `--report` writes docs/soak.md and its plots. `--shared`: the machine has other work, so latencies
 * are shown and not judged. As a canary `--leak` has every process of the server lose a little: it exits 1 unless all of that is found.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { checkout } from '../support/checkout.ts';
import { lastFirst, temporaryDirectory } from '../support/temporary-store.ts';
import {
  judgedSecondsMin,
  leakKinds,
  soakPlan,
  warmUpSeconds,
  type LeakKind,
  type SoakPlan,
  type SoakTimes,
} from './server/plan.ts';
import { describeTrend, makeReport, summarize } from './server/report.ts';
import { appendSample, nowSeconds, readSamples, type DeedSample } from './server/samples.ts';
import { SoakedServer } from './server/soaked-server.ts';
import { Timeline } from './server/timeline.ts';
import { complaintsOf, judge, missedLeaks } from './server/verdicts.ts';

const toldEveryMs = 30_000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    'upgrade-every': { type: 'string', default: '10' },
    shared: { type: 'boolean', default: false },
    leak: { type: 'string', default: '' },
    samples: { type: 'string' },
    judge: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
});
const leaks = values.leak
  .split(',')
  .filter((kind) => kind !== '')
  .map(leakKind);
if (values.judge && values.samples === undefined) throw new Error('--judge needs --samples');

/** Rejects: whatever it has started is ended then. */
const interrupted = new Promise<never>((_resolve, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
});
interrupted.catch(() => undefined);
const endings: (() => void | Promise<void>)[] = [];
const ending = lastFirst({ after: (end) => void endings.push(end) });
const file = values.samples ?? join(temporaryDirectory(ending), 'samples.jsonl');
try {
  if (!values.judge) await soak(soakPlan(readTimes()));
  await conclude();
} finally {
  for (const end of endings) await end();
}

function leakKind(text: string): LeakKind {
  const found = leakKinds.find((kind) => kind === text);
  if (found === undefined) throw new Error(`--leak takes some of ${leakKinds.join(',')}`);
  return found;
}

function readTimes(): SoakTimes {
  const seconds = Number(values.minutes) * 60;
  const upgradeEverySeconds = Number(values['upgrade-every']) * 60;
  const secondsMin = warmUpSeconds + judgedSecondsMin;
  if (!(seconds >= secondsMin) || !(upgradeEverySeconds >= secondsMin))
    throw new Error(`--minutes and --upgrade-every are ${Math.ceil(secondsMin / 60)} or more`);
  return { seconds, upgradeEverySeconds };
}

async function soak(plan: SoakPlan): Promise<void> {
  const { seconds, upgradeEverySeconds } = plan;
  rmSync(file, { force: true });
  const shared = values.shared ? 'yes' : 'no';
  const about = { seconds, upgradeEverySeconds, commit: commit(), machine: machine(), shared };
  did('begin', { ...about, leaks: leaks.join() });
  const server = await SoakedServer.start(ending, { plan, file, leaks });
  did('loaded');
  console.log(`${plan.devices} devices asleep; ${seconds / 60} minutes`);
  const startMs = performance.now();
  const tell = setInterval(() => console.log(summarize(new Timeline(readSamples(file)))), toldEveryMs);
  try {
    await Promise.all([
      repeat(plan.importEverySeconds, () => server.import()),
      repeat(upgradeEverySeconds, () => server.upgrade()),
      Promise.race([sleep(seconds * 1000), interrupted]),
    ]);
    did('end');
    await server.endLoad();
    await server.stop();
  } finally {
    clearInterval(tell);
  }

  /** Not where less than half of the interval is left. */
  async function repeat(everySeconds: number, act: () => Promise<void>): Promise<void> {
    for (let at = everySeconds; at + everySeconds / 2 <= seconds; at += everySeconds) {
      await sleep(Math.max(0, at * 1000 - (performance.now() - startMs)));
      await act();
    }
  }
}

async function conclude(): Promise<void> {
  const samples = readSamples(file);
  const about = samples.find((sample) => sample.kind === 'deed')?.about ?? {};
  const text = (name: string): string => String(about[name] ?? '');
  const timeline = new Timeline(samples);
  const isShared = text('shared') === 'yes';
  const verdicts = judge(timeline, isShared);
  for (const verdict of verdicts) console.log(describeTrend(verdict));
  const leaked = text('leaks')
    .split(',')
    .filter((kind) => kind !== '')
    .map(leakKind);
  const complaints = leaked.length > 0 ? missedLeaks(verdicts, leaked) : complaintsOf(timeline, verdicts);
  if (values.report) {
    const plan = soakPlan({
      seconds: Number(about['seconds']),
      upgradeEverySeconds: Number(about['upgradeEverySeconds']),
    });
    const date = new Date(timeline.loaded * 1000).toISOString();
    const origin = { commit: text('commit'), machine: text('machine'), date, isShared };
    write(await makeReport({ plan, origin, timeline, verdicts, complaints }));
  }
  for (const complaint of complaints) console.error(`wrong: ${complaint}`);
  if (complaints.length === 0)
    console.log(
      leaked.length > 0
        ? 'every leak was found'
        : 'no trend is a leak, and outside of upgrades nothing was lost',
    );
  process.exitCode = complaints.length > 0 ? 1 : 0;
}

function did(what: DeedSample['what'], about?: DeedSample['about']): void {
  appendSample(file, { kind: 'deed', at: nowSeconds(), what, ...(about !== undefined && { about }) });
}

function write(texts: ReadonlyMap<string, string>): void {
  for (const [path, text] of texts) {
    const target = fileURLToPath(new URL(path, checkout));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
}

function commit(): string {
  return execFileSync('git', ['rev-parse', '--short=10', 'HEAD'], {
    encoding: 'utf8',
    cwd: fileURLToPath(checkout),
  }).trim();
}

function machine(): string {
  const gibibytes = Math.round(totalmem() / 1024 ** 3);
  return `${availableParallelism()} cores (${cpus()[0]?.model}), ${gibibytes} GiB, Node ${process.versions.node}`;
}
