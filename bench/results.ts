/** Stored results: one file per benchmark. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { checkout } from '../test/support/checkout.ts';
import { Samples, type SamplesJson } from './harness/samples.ts';

export interface Result {
  readonly commit: string;
  readonly date: string;
  readonly machine: string;
  readonly runs: number;
  readonly samples: Samples;
}

const digits = 6;

function fileOf(name: string): URL {
  return new URL(`bench/results/${name}.json`, checkout);
}

export function readResult(name: string): Result | null {
  const file = fileOf(name);
  if (!existsSync(file)) return null;
  const stored = JSON.parse(readFileSync(file, 'utf8')) as Result & { samples: SamplesJson };
  return { ...stored, samples: new Samples(stored.samples) };
}

/** Writes one line per row. */
export function writeResult(name: string, { samples, ...about }: Result): void {
  const shorter = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(digits)) : value;
  const rows = Object.entries(samples.toJSON()).map(
    ([row, metrics]) => `    ${JSON.stringify(row)}: ${JSON.stringify(metrics, shorter)}`,
  );
  const head = Object.entries(about).map(
    ([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},`,
  );
  writeFileSync(fileOf(name), `{\n${head.join('\n')}\n  "samples": {\n${rows.join(',\n')}\n  }\n}\n`);
}
