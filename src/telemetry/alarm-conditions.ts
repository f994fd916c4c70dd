/** Conditions of alarms: values derived from the figures of the last hour and compared with limits, as in alerts.yml. */
import type { FigureHistory } from './figure-history.ts';

type PastFigures = Pick<FigureHistory, 'labels' | 'valueAt' | 'firstWithin' | 'peakOf' | 'spanMs' | 'lastMs'>;

/** Value by subject: a process, a listener, …; empty: the server. */
export type Readings = ReadonlyMap<string, number>;

/** Reads the values of a condition. The functions below take minutes. */
export type Read = (figures: PastFigures) => Readings;

const minuteMs = 60_000;

export interface Condition {
  /** For example `> 0.9`, in the order of the expression in alerts.yml. */
  readonly limits: readonly string[];
  /** Subjects for which the condition is true now, with their values. */
  readonly find: Read;
}

function holding(limit: string, read: Read, holds: (value: number) => boolean): Condition {
  return {
    limits: [limit],
    find: (figures) => new Map([...read(figures)].filter(([, value]) => holds(value))),
  };
}

export function over(limit: number, read: Read): Condition {
  return holding(`> ${limit}`, read, (value) => value > limit);
}

export function under(limit: number, read: Read): Condition {
  return holding(`< ${limit}`, read, (value) => value < limit);
}

export function none(read: Read): Condition {
  return holding('== 0', read, (value) => value === 0);
}

/** True where the first is, and the second for the same subject or for the server. */
export function both(first: Condition, second: Condition): Condition {
  return {
    limits: [...first.limits, ...second.limits],
    find: (figures) => {
      const others = second.find(figures);
      return new Map([...first.find(figures)].filter(([of]) => others.has('') || others.has(of)));
    },
  };
}

export function either(first: Condition, second: Condition): Condition {
  return {
    limits: [...first.limits, ...second.limits],
    find: (figures) => new Map([...second.find(figures), ...first.find(figures)]),
  };
}

/** The value of each series of a metric. */
function each(figures: PastFigures, name: string, read: (series: string) => number | null): Readings {
  const labels = figures.labels(name);
  const series: readonly (readonly [string, string])[] =
    labels.length === 0 ? [['', name]] : labels.map((label) => [label, `${name}.${label}`]);
  const readings = series.map(([of, key]) => [of, read(key)] as const);
  return new Map(readings.flatMap(([of, value]) => (value === null ? [] : [[of, value]])));
}

export function latest(name: string): Read {
  return (figures) => each(figures, name, (series) => figures.valueAt(series, 0));
}

/** The highest value since the start. */
export function peak(name: string): Read {
  return (figures) => each(figures, name, (series) => figures.peakOf(series));
}

/** The sum `agoMinutes` ago, if the history reaches back that far. */
export function before(name: string, agoMinutes: number): Read {
  return total((figures) => each(figures, name, (series) => figures.valueAt(series, agoMinutes * minuteMs)));
}

/** Growth within the last `minutes`. A new series counts from its first value. */
export function increase(name: string, minutes: number): Read {
  return (figures) =>
    each(figures, name, (series) => {
      const [now, then] = [figures.valueAt(series, 0), figures.firstWithin(series, minutes * minuteMs)];
      return now === null || then === null ? null : now - then;
    });
}

export function only(read: Read, isWanted: (label: string) => boolean): Read {
  return (figures) => new Map([...read(figures)].filter(([of]) => isWanted(of)));
}

/** The sum over all subjects; empty if there are none. */
export function total(read: Read): Read {
  return (figures) => {
    const values = [...read(figures).values()];
    return new Map(values.length === 0 ? [] : [['', values.reduce((sum, value) => sum + value, 0)]]);
  };
}

/** Increase per second. */
export function rate(
  name: string,
  minutes: number,
  isCounted: (label: string) => boolean = () => true,
): Read {
  const increased = total(only(increase(name, minutes), isCounted));
  return (figures) => {
    const seconds = Math.min(minutes * minuteMs, figures.spanMs) / 1000;
    return new Map([...increased(figures)].map(([of, value]) => [of, seconds === 0 ? 0 : value / seconds]));
  };
}

export function share(part: Read, whole: Read): Read {
  return (figures) => {
    const wholes = whole(figures);
    return new Map([...part(figures)].map(([of, value]) => [of, value / (wholes.get(of) ?? NaN)]));
  };
}

/** Seconds until the Unix time in the metric. */
export function until(name: string): Read {
  return (figures) =>
    new Map([...latest(name)(figures)].map(([of, value]) => [of, value - figures.lastMs / 1000]));
}

/** Quantile of a histogram, computed as Prometheus' `histogram_quantile` does. `name`: its buckets. */
export function quantile(share: number, name: string, minutes: number): Read {
  const increased = increase(name, minutes);
  return (figures) => {
    const buckets = [...increased(figures)]
      .map(([bound, count]) => ({ bound: bound === '+Inf' ? Infinity : Number(bound), count }))
      .sort((one, other) => one.bound - other.bound);
    const rank = share * (buckets.at(-1)?.count ?? 0);
    const at = buckets.findIndex(({ count }) => count >= rank);
    const [below, found] = [buckets[at - 1] ?? { bound: 0, count: 0 }, buckets[at]];
    if (rank === 0 || found === undefined) return new Map();
    if (found.bound === Infinity) return new Map([['', below.bound]]);
    const within = (rank - below.count) / (found.count - below.count);
    return new Map([['', below.bound + (found.bound - below.bound) * within]]);
  };
}
