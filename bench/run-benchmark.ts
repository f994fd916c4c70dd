/** Runs one benchmark within a time limit. */
import { Samples } from './harness/samples.ts';
import { Trouble } from './harness/trouble.ts';

interface Taken {
  readonly samples: Samples;
  readonly trouble: Trouble;
}

/** Null: an error, which is printed, made the numbers invalid. After the limit the benchmark ends with its processes. */
export async function runBenchmark(
  name: string,
  minutesMax: number,
  measure: (taken: Taken) => Promise<void>,
): Promise<Samples | null> {
  const [samples, trouble] = [new Samples(), new Trouble()];
  const limit = setTimeout(() => {
    console.error(`${name}: not done after ${minutesMax} minutes`);
    process.exit(1);
  }, minutesMax * 60_000);
  await measure({ samples, trouble });
  clearTimeout(limit);
  for (const line of trouble.list) console.error(`**Wrong:** ${name}: ${line}`);
  return trouble.list.length > 0 ? null : samples;
}
