/**
 * Kills a server under load again and again and looks for what it lost. Prints a line a round. The seed repeats the choices, not
 * the instants.
 */
import { runCrashRounds } from '../support/crash-rounds.ts';
import type { Ending } from '../support/temporary-store.ts';
import { readNumbers } from './plan-options.ts';

export async function run(args: readonly string[], t: Ending): Promise<readonly string[]> {
  const { rounds, seed } = readNumbers(args, { rounds: 50, seed: Date.now() % 1_000_000 });
  console.log(`${rounds} rounds, seed ${seed}`);
  await runCrashRounds(t, { rounds, seed, report: (totals) => console.log(JSON.stringify(totals)) });
  return [];
}
