/** The samples of a soak as time series, with the checked periods between upgrades. */
import { sampleSeconds, warmUpSeconds } from './plan.ts';
import { groupBy, type SeriesPoint } from './slopes.ts';
import type { DeedSample, Latency, LoadSample, ProcessSample, Role, Sample } from './samples.ts';

/** From `from` until `until`, Unix seconds. */
export interface Stretch {
  readonly from: number;
  readonly until: number;
}

export type ProcessMetric = 'liveMiB' | 'rssAnonMiB' | 'descriptors' | 'timers';
export type LoadLatency = 'wakeups' | 'events' | 'deliveries';

const returnSeconds = 60;

export class Timeline {
  readonly loads: readonly LoadSample[];
  readonly deeds: readonly DeedSample[];
  /** Time at which all devices slept; below, time of the order to end the load. */
  readonly loaded: number;
  readonly ended: number;
  /** From the order until the last process is replaced. */
  readonly upgrades: readonly Stretch[];
  readonly calm: readonly Stretch[];
  readonly #processes: readonly ProcessSample[];
  readonly #roles: ReadonlyMap<number, Role>;

  constructor(samples: readonly Sample[]) {
    this.deeds = samples.filter((sample) => sample.kind === 'deed');
    this.loads = samples.filter((sample) => sample.kind === 'load');
    this.#processes = samples.filter((sample) => sample.kind === 'process');
    const members = samples.filter((sample) => sample.kind === 'member');
    this.#roles = new Map(members.map(({ pid, role }) => [pid, role]));
    this.loaded = this.#timesOf('loaded')[0] ?? NaN;
    this.ended = this.#timesOf('end')[0] ?? this.loads.at(-1)?.at ?? NaN;
    const ends = this.#timesOf('upgrade-end');
    this.upgrades = this.#timesOf('upgrade-begin').map((from, place) => ({
      from,
      until: ends[place] ?? this.ended,
    }));
    const begins = [this.loaded, ...this.upgrades.map(({ until }) => until)];
    this.calm = begins
      .map((begin, place) => ({
        from: begin + warmUpSeconds,
        until: this.upgrades[place]?.from ?? this.ended,
      }))
      .filter(({ from, until }) => from < until);
  }

  /** Immediate failures, a sentence each. */
  get wrong(): readonly string[] {
    return this.deeds.filter(({ what }) => what === 'wrong').map(({ sentence }) => String(sentence));
  }

  minuteOf(at: number): number {
    return (at - this.loaded) / 60;
  }

  /**
   * Sum over all processes of the role, after a garbage collection or not. The stratum names the processes. They share sessions
   * unevenly, so only samples of the same time are summed.
   */
  process(role: Role, metric: ProcessMetric, isCollected: boolean): readonly SeriesPoint[] {
    const own = this.#processes.filter(
      (sample) => this.#roles.get(sample.pid) === role && (sample.isCollected || !isCollected),
    );
    const pids = [...new Set(own.map(({ pid }) => pid))];
    const turns = this.calm.flatMap((stretch) => {
      const present = pids.filter((pid) =>
        own.some((sample) => sample.pid === pid && isIn(sample.at, stretch)),
      );
      const [first = 0, ...others] = present;
      return own
        .filter(({ pid, at }) => pid === first && isIn(at, stretch))
        .map((sample) => ({
          at: sample.at,
          stratum: present.join('+'),
          value: [first, ...others].reduce(
            (sum, pid) => sum + (nearest(own, pid, sample.at)?.[metric] ?? 0),
            0,
          ),
        }));
    });
    return turns;
  }

  /** One stratum, because a backend's latency continues across upgrades; the upgrades themselves are omitted. */
  latency(of: LoadLatency, which: keyof Latency): readonly SeriesPoint[] {
    return this.loads
      .filter((load) => load[of].count > 0 && this.calm.some((stretch) => isIn(load.at, stretch)))
      .map((load) => ({ at: load.at, value: load[of][which], stratum: 'all' }));
  }

  /** Total anonymous memory of the newest processes of the role; NaN before their first sample. */
  latestMiB(role: Role): number {
    const own = this.#processes.filter(({ pid }) => this.#roles.get(pid) === role);
    const newestAt = own.at(-1)?.at ?? NaN;
    const newest = [...groupBy(own, ({ pid }) => pid).values()]
      .map((samples) => samples.at(-1))
      .filter((sample) => sample !== undefined && newestAt - sample.at < 2 * sampleSeconds);
    return newest.length === 0 ? NaN : newest.reduce((sum, sample) => sum + (sample?.rssAnonMiB ?? 0), 0);
  }

  /** Error counts by kind: during upgrades and the following minute, in which devices reconnect, or outside of both. */
  errors(duringUpgrades: boolean): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { at, errors } of this.loads) {
      const isDuring = this.upgrades.some(({ from, until }) =>
        isIn(at, { from, until: until + returnSeconds }),
      );
      if (isDuring !== duringUpgrades) continue;
      for (const [kind, count] of Object.entries(errors)) counts.set(kind, (counts.get(kind) ?? 0) + count);
    }
    return counts;
  }

  #timesOf(what: DeedSample['what']): readonly number[] {
    return this.deeds.filter((deed) => deed.what === what).map(({ at }) => at);
  }
}

function isIn(at: number, { from, until }: Stretch): boolean {
  return at >= from && at <= until;
}

function nearest(samples: readonly ProcessSample[], pid: number, at: number): ProcessSample | undefined {
  let found: ProcessSample | undefined;
  for (const sample of samples)
    if (sample.pid === pid && Math.abs(sample.at - at) < Math.abs((found?.at ?? Infinity) - at))
      found = sample;
  return found;
}
