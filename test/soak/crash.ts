/**
 * Kills a server under load again and again and looks for what it lost. Prints a line a round. The seed repeats the choices, not
 * the instants.
 */
import { parseArgs } from 'node:util';
import { runCrashRounds } from '../support/crash-rounds.ts';
import type { Ending } from '../support/temporary-store.ts';

export async function run(args: readonly string[], t: Ending): Promise<readonly string[]> {
  const options = { rounds: { type: 'string' }, seed: { type: 'string' } } as const;
  const { values } = parseArgs({ args: [...args], options });
  const rounds = Number(values.rounds ?? 50);
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed))
    throw new Error('--rounds and --seed are whole numbers');
  console.log(`${rounds} rounds, seed ${seed}`);
  await runCrashRounds(t, { rounds, seed, report: (totals) => console.log(JSON.stringify(totals)) });
  return [];
}
