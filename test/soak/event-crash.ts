/**
 * Kills a server under load again and again and looks for what it lost.
 *
 *   npm run soak:crash [-- --rounds 50] [--seed 1]
 *
 * Prints a line a round; exits 1 with the seed when something is wrong. The seed repeats the choices, not the
 * instants.
 */
import { parseArgs } from 'node:util';
import { runCrashRounds } from '../support/crash-rounds.ts';

const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } });
const rounds = Number(values.rounds ?? 50);
const seed = Number(values.seed ?? Date.now() % 1_000_000);
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(seed))
  throw new Error('--rounds and --seed are whole numbers');

const endings: (() => void | Promise<void>)[] = [];
console.log(`${rounds} rounds, seed ${seed}`);
try {
  const ending = { after: (run: () => void | Promise<void>): void => void endings.push(run) };
  await runCrashRounds(ending, { rounds, seed, report: (totals) => console.log(JSON.stringify(totals)) });
  console.log('nothing was lost, nothing invented');
} catch (error) {
  console.error(error);
  console.error(`seed ${seed}`);
  process.exitCode = 1;
} finally {
  for (const end of endings.toReversed()) await end();
}
