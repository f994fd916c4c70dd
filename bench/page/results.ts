/** What was measured, as it is committed: a file for each figure, all of one commit on one machine. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Figure } from '../load/figure.ts';
import { Samples } from '../load/samples.ts';

export interface Result {
  readonly commit: string;
  /** Whether it was measured for a look only: in one run, or beside other work. */
  readonly isProvisional: boolean;
  readonly date: string;
  readonly machine: string;
  readonly runs: number;
  readonly seconds: number;
  readonly figure: Figure;
}

const digits = 6;

/** By the figure's name. A folder that is not there has none. */
export function readResults(folder: string): Map<string, Result> {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  const results = files.sort().map((file) => readResult(join(folder, file)));
  return new Map(results.map((result) => [result.figure.name, result]));
}

function readResult(file: string): Result {
  const result: Result = JSON.parse(readFileSync(file, 'utf8'));
  const samples = Samples.of(result.figure.samples as unknown as ReturnType<Samples['toJSON']>);
  return { ...result, figure: { ...result.figure, samples } };
}

export function writeResult(folder: string, result: Result): void {
  mkdirSync(folder, { recursive: true });
  const shorter = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(digits)) : value;
  writeFileSync(join(folder, `${result.figure.name}.json`), `${JSON.stringify(result, shorter, 1)}\n`);
}
