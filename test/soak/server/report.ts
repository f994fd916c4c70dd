/** The report of a soak: a page in Markdown, its plots, and the figures that both are made of. */
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { formatNumber, table } from '../../../bench/harness/tables.ts';
import { drawPlot, type Panel, type Plot, type Series } from './svg-plot.ts';
import { checkout } from '../../support/checkout.ts';
import { warmUpSeconds, type SoakPlan } from './plan.ts';
import { roles, type Latency, type Role } from './samples.ts';
import type { LoadLatency, ProcessMetric, Timeline } from './timeline.ts';
import { grows, type Verdict } from './verdicts.ts';

export interface SoakOrigin {
  readonly commit: string;
  /** ISO 8601, of the first login. */
  readonly date: string;
  readonly machine: string;
  /** Others used it meanwhile. */
  readonly isShared: boolean;
}

export interface SoakReport {
  readonly plan: SoakPlan;
  readonly origin: SoakOrigin;
  readonly timeline: Timeline;
  readonly verdicts: readonly Verdict[];
  readonly complaints: readonly string[];
}

const page = 'docs/soak.md';
const folder = 'docs/soak';
/** In the order of the page. */
const plots: Readonly<Record<string, (timeline: Timeline) => Plot>> = {
  memory: plotMemory,
  held: plotHeld,
  latency: plotLatency,
  load: plotLoad,
};

/** Text by path from the root. */
export async function makeReport(report: SoakReport): Promise<ReadonlyMap<string, string>> {
  const path = fileURLToPath(new URL(page, checkout));
  const text = await format(describe(report), { ...(await resolveConfig(path)), parser: 'markdown' });
  const drawn = Object.entries(plots).map(
    ([name, draw]) => [`${folder}/${name}.svg`, drawPlot(draw(report.timeline))] as const,
  );
  return new Map([[page, text], ...drawn]);
}

function describe({ plan, origin, timeline, verdicts, complaints }: SoakReport): string {
  const { commit, date, machine, isShared } = origin;
  return `# Soak

For operators who want to know what stays flat, and for contributors who look for a leak. \`npm run soak\` loads a server of
several processes for as long as it is told to, upgrades it meanwhile, and judges the trend of everything that a process holds.
This page and its plots are made by it (\`test/soak/server.ts\`).

- **Commit**: \`${commit}\`, ${date.slice(0, 10)}, \`npm run soak -- --minutes ${plan.seconds / 60}\`.
- **Machine**: ${machine}${isShared ? '; shared: other work ran beside it, and is in every latency' : ''}.
- **Processor time**: the server took ${share(timeline, 'server')} % of a core, devices, calls and backends ${share(timeline, 'load')} %.

${complaints.length === 0 ? '**No trend is a leak, and outside of upgrades nothing was lost.**' : complaints.map((complaint) => `**Wrong:** ${complaint}`).join('\n\n')}

## The load

${describeLoad(plan)}

## Trends

The median of the slopes between all pairs of samples, without the upgrades and the ${warmUpSeconds} s
behind the start and behind each of them, in which what is kept for 300 s becomes more. Processes that an upgrade replaces are compared with themselves only. Memory is taken behind a forced collection every 30 s; what is alive is V8's heap
and the buffers it owns, what the kernel gave is \`RssAnon\`. A trend is a leak if it is steeper than its bound and makes more than the
least growth in the longest stretch that is judged. What a worker keeps becomes more for some eleven minutes, until it knows the devices and
signatures of its load: where upgrades replace it before, its trend is that; \`--upgrade-every 60\` shows where it ends.

${table(['', 'median', 'trend an hour', 'makes', 'bound an hour', 'least growth', ''], verdicts.map(describeVerdict))}

${['memory', 'held', 'latency', 'load'].map((name) => `![${altOf(name, timeline)}](soak/${name}.svg)`).join('\n\n')}

## Upgrades

${describeUpgrades(timeline)}

## Errors

${describeErrors(timeline)}

## Leaks that it has to find

\`npm run soak -- --minutes 9 --leak memory,descriptor,timer\` preloads a module into every process of the server that loses
64 KiB, a descriptor and a timer four times a second; nothing in the server knows of it. The run ends with exit code 1 unless each is
named of each process.
`;
}

function share(timeline: Timeline, of: 'server' | 'load'): string {
  return ((timeline.cpuSeconds(of) / (timeline.ended - timeline.loaded)) * 100).toFixed(0);
}

function describeLoad(plan: SoakPlan): string {
  const { devices, wholeDevices, calls, importedDevices } = plan;
  return [
    `- ${formatNumber(devices, 0)} devices asleep, each with a heartbeat every ${plan.heartbeatSeconds} s; ${formatNumber(wholeDevices, 0)} of them come online when they are woken, report, and sleep again 3 s later.`,
    `- ${plan.moduleWakesPerSecond + plan.deviceWakesPerSecond} wakeups a second; ${plan.deviceWakesPerSecond} of them are a signal login, a sleep login and the ends of both. Every packet is awaited at its device.`,
    `- ${calls} calls with pictures that are converted; every ${plan.callChangeSeconds} s each loses a leg that comes back, or ends and begins anew.`,
    `- A reader of all events, a webhook for all that works, and one whose receiver refuses for 20 s, is silent for 20 s and works for 20 s, in turn.`,
    `- Every ${plan.importEverySeconds / 60} minutes an import with \`--replace\`, which adds ${formatNumber(importedDevices, 0)} devices or removes them again; every ${plan.upgradeEverySeconds / 60} minutes \`SIGUSR2\`, by which both workers hand over under load and the coordinator restarts.`,
  ].join('\n');
}

function describeVerdict(verdict: Verdict): string[] {
  const { what, unit, bound, trend } = verdict;
  const withUnit = (value: number, digits: number): string =>
    `${formatNumber(value, digits)}${unit === '' ? '' : ` ${unit}`}`;
  if (trend === null) return [what, '', 'too few samples', '', '', '', ''];
  return [
    what,
    withUnit(trend.median, 1),
    withUnit(trend.perHour, 1),
    withUnit(trend.growth, 1),
    bound === null ? 'shown' : `≤ ${withUnit(bound.perHour, 0)}`,
    bound === null ? '' : withUnit(bound.growthMin, 0),
    wordOf(verdict),
  ];
}

function wordOf(verdict: Verdict): string {
  const { bound, trend } = verdict;
  if (bound === null) return '';
  if (grows(verdict)) return '**grows**';
  return trend !== null && trend.perHour > bound.perHour ? 'too little to tell' : 'flat';
}

function altOf(name: string, timeline: Timeline): string {
  return plots[name]?.(timeline).description ?? name;
}

function describeUpgrades(timeline: Timeline): string {
  if (timeline.upgrades.length === 0) return 'The run was too short for one.';
  const rows = timeline.upgrades.map(({ from, until }) => {
    const during = timeline.loads.filter(({ at }) => at >= from && at <= until + 60);
    const least = Math.min(...during.map(({ asleep }) => asleep));
    const p99 = Math.max(...during.map(({ wakeups }) => wakeups.p99Ms));
    return [
      timeline.minuteOf(from).toFixed(1),
      (until - from).toFixed(1),
      formatNumber(least, 0),
      formatNumber(p99, 0),
    ];
  });
  return table(['minute', 'seconds', 'fewest asleep', 'slowest p99 of a wakeup, ms'], rows);
}

function describeErrors(timeline: Timeline): string {
  const [outside, during] = [false, true].map((isDuring) => timeline.errors(isDuring));
  const kinds = [...new Set([...(outside?.keys() ?? []), ...(during?.keys() ?? [])])].toSorted();
  if (kinds.length === 0) return 'None.';
  const rows = kinds.map((kind) => [kind, String(outside?.get(kind) ?? 0), String(during?.get(kind) ?? 0)]);
  return table(['kind', 'outside of upgrades', 'in upgrades and the minute behind'], rows);
}

const minutes = { title: 'minutes' };

function processPanel(timeline: Timeline, title: string, unit: string, metric: ProcessMetric): Panel {
  const series = roles.map((role): Series => {
    const name = nameOf(role);
    return { name, points: timeline.processByMinute(role, metric) };
  });
  return { title, x: minutes, y: { title: unit }, series };
}

function nameOf(role: Role): string {
  return role === 'worker' ? 'workers' : role;
}

function plotMemory(timeline: Timeline): Plot {
  return {
    title: 'Memory over the time of the soak',
    description: 'Memory that is alive and memory from the kernel, by process, each minute of the soak',
    panels: [
      processPanel(timeline, 'Memory alive, MiB', 'MiB', 'liveMiB'),
      processPanel(timeline, 'Memory from the kernel (RssAnon), MiB', 'MiB', 'rssAnonMiB'),
    ],
  };
}

function plotHeld(timeline: Timeline): Plot {
  return {
    title: 'Descriptors and timers over the time of the soak',
    description: 'Open descriptors and timers, by process, each minute of the soak',
    panels: [
      processPanel(timeline, 'Descriptors', '', 'descriptors'),
      processPanel(timeline, 'Timers', '', 'timers'),
    ],
  };
}

function plotLatency(timeline: Timeline): Plot {
  const line = (name: string, of: LoadLatency, which: keyof Latency): Series => {
    const measured = timeline.loads.filter((load) => load[of].count > 0);
    return { name, points: timeline.byMinute(measured, (load) => Math.max(load[of][which], 0.1)) };
  };
  const y = { title: 'ms', isLog: true };
  return {
    title: 'Latencies over the time of the soak',
    description: 'How long wakeups and events take, each minute of the soak',
    panels: [
      {
        title: 'A wakeup to its packet, ms',
        x: minutes,
        y,
        series: [line('p50', 'wakeups', 'p50Ms'), line('p99', 'wakeups', 'p99Ms')],
      },
      {
        title: 'An event to who is told of it, ms',
        x: minutes,
        y,
        series: [
          line('reader p50', 'events', 'p50Ms'),
          line('reader p99', 'events', 'p99Ms'),
          line('webhook p50', 'deliveries', 'p50Ms'),
          line('webhook p99', 'deliveries', 'p99Ms'),
        ],
      },
    ],
  };
}

function plotLoad(timeline: Timeline): Plot {
  const { loads } = timeline;
  return {
    title: 'Devices and errors over the time of the soak',
    description: 'Devices that sleep, and errors of devices and backends, each minute of the soak',
    panels: [
      {
        title: 'Devices asleep',
        x: minutes,
        y: { title: '' },
        series: [{ name: 'asleep', points: timeline.byMinute(loads, ({ asleep }) => asleep) }],
      },
      {
        title: 'Errors in 5 s, the most of each minute',
        x: minutes,
        y: { title: '' },
        series: [{ name: 'errors', points: timeline.mostByMinute(loads, ({ errors }) => sum(errors)) }],
      },
    ],
  };
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

/** In a line, for who runs it. */
export function describeTrend(verdict: Verdict): string {
  const [what, median, perHour, , bound, , word] = describeVerdict(verdict);
  return `${what}: ${perHour} an hour (${bound}), median ${median}, ${verdict.trend?.points ?? 0} samples ${word}`;
}

/** The latest, as describeTrend. */
export function summarize(timeline: Timeline): string {
  const latest = timeline.loads.at(-1);
  if (latest === undefined) return 'no sample yet';
  const { asleep, awake, wakeups, events, deliveries, pictures, errors } = latest;
  const memory = roles.map((role) => {
    const points = timeline.processByMinute(role, 'rssAnonMiB');
    return `${nameOf(role)} ${(points.at(-1)?.y ?? NaN).toFixed(0)}`;
  });
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
