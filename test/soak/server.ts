/**
 * Loads a server of several processes with all of its functions, upgrades it meanwhile, and checks the trends of its processes'
 * resources and of its latencies. Prints a line every half minute, and the trends at the end.
 *
 * `--shared`: the machine has other work, so that latencies are shown but not checked. `--leak` is a canary: every process of
 * the server leaks a little, and each leak must be found.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { formatNumber } from '../../bench/harness/tables.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import {
  judgedSecondsMin,
  leakKinds,
  soakPlan,
  warmUpSeconds,
  type LeakKind,
  type SoakPlan,
} from './server/plan.ts';
import { appendSample, nowSeconds, readSamples, roles, type DeedSample } from './server/samples.ts';
import { SoakedServer } from './server/soaked-server.ts';
import { Timeline } from './server/timeline.ts';
import { complaintsOf, grows, judge, missedLeaks, type Verdict } from './server/verdicts.ts';

const progressEveryMs = 30_000;

interface Options {
  readonly plan: SoakPlan;
  readonly isShared: boolean;
  readonly leaks: readonly LeakKind[];
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '60' },
      'upgrade-every': { type: 'string', default: '10' },
      shared: { type: 'boolean', default: false },
      leak: { type: 'string', default: '' },
    },
  });
  const seconds = Number(values.minutes) * 60;
  const upgradeEverySeconds = Number(values['upgrade-every']) * 60;
  const secondsMin = warmUpSeconds + judgedSecondsMin;
  if (!(seconds >= secondsMin) || !(upgradeEverySeconds >= secondsMin))
    throw new Error(`--minutes and --upgrade-every are ${Math.ceil(secondsMin / 60)} or more`);
  const leaks = values.leak.split(',').filter((kind) => kind !== '');
  return {
    plan: soakPlan({ seconds, upgradeEverySeconds }),
    isShared: values.shared,
    leaks: leaks.map(leakKind),
  };
}

function leakKind(text: string): LeakKind {
  const found = leakKinds.find((kind) => kind === text);
  if (found === undefined) throw new Error(`--leak takes some of ${leakKinds.join(',')}`);
  return found;
}

export async function run(args: readonly string[], t: Ending): Promise<readonly string[]> {
  const { plan, isShared, leaks } = readOptions(args);
  const file = join(temporaryDirectory(t), 'samples.jsonl');
  await soak(t, { plan, leaks, file });
  const timeline = new Timeline(readSamples(file));
  const verdicts = judge(timeline, isShared);
  for (const verdict of verdicts) console.log(describeTrend(verdict));
  for (const [when, isDuring] of [
    ['outside of upgrades', false],
    ['in upgrades and the minute after', true],
  ] as const)
    console.log(`errors ${when}: ${JSON.stringify(Object.fromEntries(timeline.errors(isDuring)))}`);
  return leaks.length > 0 ? missedLeaks(verdicts, leaks) : complaintsOf(timeline, verdicts);
}

interface Soaking {
  readonly plan: SoakPlan;
  readonly leaks: readonly LeakKind[];
  readonly file: string;
}

async function soak(t: Ending, { plan, leaks, file }: Soaking): Promise<void> {
  const { seconds, upgradeEverySeconds, importEverySeconds, devices } = plan;
  const did = (what: DeedSample['what']): void =>
    appendSample(file, { kind: 'deed', at: nowSeconds(), what });
  const server = await SoakedServer.start(t, { plan, file, leaks });
  did('loaded');
  console.log(`${devices} devices asleep; ${seconds / 60} minutes`);
  const startMs = performance.now();
  const progress = setInterval(
    () => console.log(summarize(new Timeline(readSamples(file)))),
    progressEveryMs,
  );
  t.after(() => clearInterval(progress));

  /** Skips the last run if less than half of the interval is left. */
  const repeat = async (everySeconds: number, act: () => Promise<void>): Promise<void> => {
    for (let at = everySeconds; at + everySeconds / 2 <= seconds; at += everySeconds) {
      await sleep(Math.max(0, at * 1000 - (performance.now() - startMs)));
      await act();
    }
  };

  await Promise.all([
    repeat(importEverySeconds, () => server.import()),
    repeat(upgradeEverySeconds, () => server.upgrade()),
    sleep(seconds * 1000),
  ]);
  did('end');
  clearInterval(progress);
  await server.endLoad();
  await server.stop();
}

function describeTrend({ what, unit, bound, trend, ...rest }: Verdict): string {
  if (trend === null) return `${what}: too few samples`;
  const show = (value: number): string => `${formatNumber(value, 1)} ${unit}`.trim();
  const limit = bound === null ? 'shown' : `≤ ${show(bound.perHour)}`;
  const judged = grows({ what, unit, bound, trend, ...rest }) ? '; GROWS' : '';
  return `${what}: ${show(trend.perHour)} an hour (${limit}), median ${show(trend.median)}, ${trend.points} samples${judged}`;
}

function summarize(timeline: Timeline): string {
  const latest = timeline.loads.at(-1);
  if (latest === undefined) return 'no sample yet';
  const { asleep, awake, wakeups, events, deliveries, pictures, errors } = latest;
  const memory = roles.map((role) => `${role} ${timeline.latestMiB(role).toFixed(0)}`);
  return [
    `minute ${timeline.minuteOf(latest.at).toFixed(1)}`,
    `${asleep} asleep, ${awake} awake`,
    `wakeup p99 ${wakeups.p99Ms.toFixed(0)} ms`,
    `event p99 ${events.p99Ms.toFixed(0)} ms, webhook ${deliveries.p99Ms.toFixed(0)} ms`,
    `${pictures} pictures`,
    `MiB: ${memory.join(', ')}`,
    JSON.stringify(errors),
  ].join('; ');
}
