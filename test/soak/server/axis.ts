/** An axis of a plot, linear from 0 or logarithmic: where a value is on it, and its ticks. */

export interface Axis {
  readonly title: string;
  readonly isLog?: boolean;
  /** Where the ticks are; found when left out. */
  readonly ticks?: readonly number[];
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

export interface Tick {
  readonly value: number;
  readonly label: string;
}

/** What is free at both ends of the values of a logarithmic axis, and above those of a linear one. */
const marginFactor = 1.25;
const linearMargin = 1.08;
const ticksWanted = 5;
const decadeSteps = [1, 2, 5];

/** From 0 at the axis' begin to 1 at its end. */
export function placeOnAxis(value: number, { isLog }: Axis, { from, to }: Range): number {
  if (!isLog) return (value - from) / ((to - from || 1) * linearMargin);
  const [low, high] = [Math.log(from / marginFactor), Math.log(to * marginFactor)];
  return (Math.log(value) - low) / (high - low);
}

export function ticksOf(axis: Axis, range: Range): Tick[] {
  const values = axis.ticks ?? (axis.isLog ? logTicks(range) : linearTicks(range));
  return values.map((value) => ({ value, label: labelOf(value) }));
}

function linearTicks({ from, to }: Range): number[] {
  const raw = ((to - from) * linearMargin) / ticksWanted;
  const decade = 10 ** Math.floor(Math.log10(raw));
  const step = decade * ([1, 2, 5, 10].find((one) => one * decade >= raw) ?? 10);
  const first = Math.ceil(from / step);
  const last = Math.floor((from + (to - from) * linearMargin) / step);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

/** Of 1, 2 and 5 of each decade where there are few, else of 1. */
function logTicks({ from, to }: Range): number[] {
  const [low, high] = [from / marginFactor, to * marginFactor];
  const decades = Array.from(
    { length: Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1 },
    (_, index) => 10 ** (Math.floor(Math.log10(low)) + index),
  );
  const steps = Math.log10(high / low) > 2.5 ? [1] : decadeSteps;
  return decades
    .flatMap((decade) => steps.map((step) => step * decade))
    .filter((value) => value >= low && value <= high);
}

function labelOf(value: number): string {
  if (value >= 1e6) return `${shorten(value / 1e6)} M`;
  return value >= 1e4 ? `${shorten(value / 1e3)} k` : shorten(value);
}

function shorten(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en-US', { maximumFractionDigits: 3 });
}
