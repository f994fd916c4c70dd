/**
 * Trend of a series by the Theil-Sen estimator, the median slope of all pairs of points, which tolerates nearly a third of
 * outliers, such as bursts of other work on the machine. Pairs are within a stratum, so that a new process is not compared with
 * its predecessor.
 */

export interface SeriesPoint {
  readonly at: number;
  readonly value: number;
  /** Points of different strata are not compared. */
  readonly stratum: string;
}

export interface Trend {
  readonly perHour: number;
  readonly growth: number;
  readonly median: number;
  readonly points: number;
}

const secondsPerHour = 3600;
const pointsMin = 4;

/** Null: too few points in every stratum. */
export function trendOf(points: readonly SeriesPoint[]): Trend | null {
  const strata = groupBy(points, ({ stratum }) => stratum);
  const judged = [...strata.values()].filter((own) => own.length >= pointsMin);
  const slopes = judged.flatMap(slopesOfPairs);
  if (slopes.length === 0) return null;
  const perSecond = medianOf(slopes);
  const seconds = Math.max(...judged.map(secondsOf));
  return {
    perHour: perSecond * secondsPerHour,
    growth: perSecond * seconds,
    median: medianOf(judged.flat().map(({ value }) => value)),
    points: judged.flat().length,
  };
}

export function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** An even number of values gives the mean of the middle two; none gives NaN. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? NaN;
  return (lower + upper) / 2;
}

function slopesOfPairs(points: readonly SeriesPoint[]): number[] {
  return points.flatMap((one, place) =>
    points.slice(place + 1).flatMap((other) => {
      const seconds = other.at - one.at;
      return seconds === 0 ? [] : [(other.value - one.value) / seconds];
    }),
  );
}

function secondsOf(points: readonly SeriesPoint[]): number {
  const times = points.map(({ at }) => at);
  return Math.max(...times) - Math.min(...times);
}
