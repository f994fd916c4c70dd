/** The committed baseline of the short check: ratios of watched figures to their peers, by benchmark and figure. */
import { readFileSync, writeFileSync } from 'node:fs';
import { checkout } from '../test/support/checkout.ts';

export type Baseline = Readonly<Record<string, Readonly<Record<string, number>>>>;

export const baselinePath = 'bench/baseline.json';
const file = new URL(baselinePath, checkout);
const digits = 3;

/** A figure counts as slower beyond this multiple of its baseline, in both measurements. */
export const slowdownMax = 1.5;

export function readBaseline(): Baseline {
  return JSON.parse(readFileSync(file, 'utf8')) as Baseline;
}

/** Replaces the ratios of these benchmarks. */
export function writeBaseline(measured: Baseline): void {
  const shorter = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(digits)) : value;
  writeFileSync(file, `${JSON.stringify({ ...readBaseline(), ...measured }, shorter, 2)}\n`);
}

/** True: slower in every measurement. None is no evidence. */
export function isSlower(ratios: readonly number[], baseline: number): boolean {
  return ratios.length > 0 && ratios.every((ratio) => ratio > baseline * slowdownMax);
}
