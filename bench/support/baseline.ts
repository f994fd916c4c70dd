/** What the small benchmarks gave the last time they were taken as the measure, and how those of now compare with it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { checkout } from '../../test/support/checkout.ts';

interface Place {
  readonly machine: string;
  readonly node: string;
}

export interface Baseline extends Place {
  readonly commit: string;
  /** Nanoseconds a call, by case. */
  readonly cases: Readonly<Record<string, number>>;
}

export interface Comparison {
  /** What stands above the table. */
  readonly note: string;
  /** Times the baseline's time; null: it has no such case. */
  timesOf(name: string, ns: number): number | null;
}

/** The case that says how fast a machine is; it runs nothing of ours. */
export const calibration = 'calibration: a loop and a hash of the platform';
/** Slower than that is marked: what is less comes and goes with the machine. */
export const slowerMax = 1.25;

const file = new URL('bench/baseline.json', checkout);
const digits = 4;

function thisPlace(): Place {
  return { machine: cpus()[0]?.model.trim() ?? 'unknown', node: process.versions.node };
}

export function writeBaseline(cases: ReadonlyMap<string, number>, commit: string): void {
  const rounded = Array.from(cases, ([name, ns]) => [name, Number(ns.toPrecision(digits))] as const);
  const baseline: Baseline = { ...thisPlace(), commit, cases: Object.fromEntries(rounded) };
  writeFileSync(file, `${JSON.stringify(baseline, null, 2)}\n`);
}

export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** On another machine, or another Node, everything is taken as so much faster or slower as the calibration is. */
export function compareWithBaseline(
  baseline: Baseline,
  measured: ReadonlyMap<string, number>,
  here: Place = thisPlace(),
): Comparison {
  const isSame = baseline.machine === here.machine && baseline.node === here.node;
  const factor = (measured.get(calibration) ?? NaN) / (baseline.cases[calibration] ?? NaN);
  const scale = isSame || Number.isNaN(factor) ? 1 : factor;
  const of = `commit ${baseline.commit} on ${baseline.machine}, Node ${baseline.node}`;
  return {
    note: isSame
      ? `compared with ${of}`
      : `another machine: compared with ${of}, ${describeScale(scale, factor)}`,
    timesOf: (name, ns) => {
      const before = baseline.cases[name];
      return before === undefined ? null : ns / (before * scale);
    },
  };
}

function describeScale(scale: number, factor: number): string {
  if (Number.isNaN(factor)) return 'without the calibration, which was not chosen';
  return `taken as ${scale.toFixed(2)} times as slow by the calibration`;
}
