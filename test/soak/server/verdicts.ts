/** Verdicts of the soak: each trend against its bound, and errors that must not happen. */
import type { LeakKind } from './plan.ts';
import type { Timeline } from './timeline.ts';
import { roles, type Role } from './samples.ts';
import { trendOf, type Trend } from './slopes.ts';

export interface Bound {
  readonly perHour: number;
  /** Less total growth than this is noise, whatever the slope. */
  readonly growthMin: number;
}

export interface Verdict {
  readonly what: string;
  readonly unit: string;
  /** Null: shown, but not checked. */
  readonly bound: Bound | null;
  readonly trend: Trend | null;
}

/**
 * Bounds by metric. Live memory is exact after a garbage collection; anonymous memory includes reserves of V8 and malloc, and
 * grows for some eleven minutes in an edge.
 */
export const bounds = {
  liveMiB: { perHour: 16, growthMin: 4 },
  rssAnonMiB: { perHour: 64, growthMin: 24 },
  descriptors: { perHour: 40, growthMin: 12 },
  timers: { perHour: 20, growthMin: 8 },
  p99Ms: { perHour: 50, growthMin: 50 },
} as const satisfies Record<string, Bound>;

/** An upgrade may end signal connections, API connections and calls, but must not lose events or close sleep sessions. */
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

/** `isShared`: the machine has other work, so latencies have no bound. */
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

/** Metrics in which each kind of leak must show. */
const leakShows: Readonly<Record<LeakKind, string>> = {
  memory: 'memory alive',
  descriptor: 'descriptors',
  timer: 'timers',
};

/** Returns a sentence per leak of the canary that no trend showed. */
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
