/** The verdicts of the soak: each trend against its bound, and errors that must not happen. */
import type { LeakKind } from './plan.ts';
import type { Timeline } from './timeline.ts';
import { roles, type Role } from './samples.ts';
import { trendOf, type Trend } from './slopes.ts';

export interface Bound {
  /** In the unit of the series. */
  readonly perHour: number;
  /** A steeper trend that makes no more than this is noise: of a short run, or of few points. */
  readonly growthMin: number;
}

export interface Verdict {
  readonly what: string;
  readonly unit: string;
  /** Null: it is shown. */
  readonly bound: Bound | null;
  /** Null: there were too few points to tell. */
  readonly trend: Trend | null;
}

/**
 * By what is measured. Memory that is alive is counted to the byte behind a collection; what the kernel has given also holds
 * what V8 and malloc keep for later, and an edge takes more of it for some eleven minutes.
 */
export const bounds = {
  liveMiB: { perHour: 16, growthMin: 4 },
  rssAnonMiB: { perHour: 64, growthMin: 24 },
  descriptors: { perHour: 40, growthMin: 12 },
  timers: { perHour: 20, growthMin: 8 },
  p99Ms: { perHour: 50, growthMin: 50 },
} as const satisfies Record<string, Bound>;

/** In an upgrade signal and API connections end, and calls; nothing explains lost events, or a closed sleep session. */
const neverOutsideUpgrades = [
  /^wakeup: (?:no packet|a packet that nobody waits for)/,
  /^device: /,
  /^reader: /,
];
const neverAtAll = [
  /^reader: events were lost/,
  /^wakeup: no packet/,
  /^device: the sleep server closed the connection/,
];

export function grows({ bound, trend }: Verdict): boolean {
  return trend !== null && bound !== null && trend.perHour > bound.perHour && trend.growth > bound.growthMin;
}

/** `isShared`: other work on the machine makes latencies what they are: they have no bound. */
export function judge(timeline: Timeline, isShared: boolean): readonly Verdict[] {
  return [...roles.flatMap((role) => judgeProcess(timeline, role)), ...judgeLatencies(timeline, isShared)];
}

function judgeProcess(timeline: Timeline, role: Role): readonly Verdict[] {
  const of = (
    metric: 'liveMiB' | 'rssAnonMiB' | 'descriptors' | 'timers',
    what: string,
    unit: string,
  ): Verdict => {
    const isMemory = metric === 'liveMiB' || metric === 'rssAnonMiB';
    const trend = trendOf(timeline.process(role, metric, isMemory));
    return { what: whatOf(role, what), unit, bound: bounds[metric], trend };
  };
  return [
    of('liveMiB', 'memory alive', 'MiB'),
    of('rssAnonMiB', 'memory from the kernel', 'MiB'),
    of('descriptors', 'descriptors', ''),
    of('timers', 'timers', ''),
  ];
}

function whatOf(role: Role, what: string): string {
  return `${role === 'edge' ? 'edges together' : role}: ${what}`;
}

function judgeLatencies(timeline: Timeline, isShared: boolean): readonly Verdict[] {
  const of = (what: string, series: 'wakeups' | 'events' | 'deliveries'): Verdict => ({
    what,
    unit: 'ms',
    bound: isShared ? null : bounds.p99Ms,
    trend: trendOf(timeline.latency(series, 'p99Ms')),
  });
  return [
    of('a wakeup to its packet, p99', 'wakeups'),
    of('an event to its reader, p99', 'events'),
    of('an event to its webhook, p99', 'deliveries'),
  ];
}

/** Sentences; none: nothing was wrong. */
export function complaintsOf(timeline: Timeline, verdicts: readonly Verdict[]): readonly string[] {
  const grown = verdicts.filter(grows).map(({ what, unit, trend }) => {
    const perHour = trend?.perHour.toFixed(1) ?? '';
    return `${what} grows by ${perHour}${unit === '' ? '' : ` ${unit}`} an hour`;
  });
  const unknown = verdicts
    .filter(({ trend }) => trend === null)
    .map(({ what }) => `${what}: too few samples`);
  const outside = listErrors(timeline.errors(false), [...neverOutsideUpgrades, ...neverAtAll]);
  const during = listErrors(timeline.errors(true), neverAtAll);
  return [...grown, ...unknown, ...outside, ...during, ...timeline.wrong];
}

/** The metrics that a leak has to show in. */
const leakShows: Readonly<Record<LeakKind, string>> = {
  memory: 'memory alive',
  descriptor: 'descriptors',
  timer: 'timers',
};

/** Sentences: leaks of a canary's processes that no trend showed. */
export function missedLeaks(verdicts: readonly Verdict[], leaks: readonly LeakKind[]): readonly string[] {
  return leaks.flatMap((kind) =>
    roles
      .map((role) => whatOf(role, leakShows[kind]))
      .filter((what) => !verdicts.some((verdict) => verdict.what === what && grows(verdict)))
      .map((what) => `the canary leaks, and no trend shows it: ${what}`),
  );
}

function listErrors(errors: ReadonlyMap<string, number>, kinds: readonly RegExp[]): readonly string[] {
  return [...errors]
    .filter(([kind]) => kinds.some((never) => never.test(kind)))
    .map(([kind, count]) => `${count} × ${kind}`);
}
