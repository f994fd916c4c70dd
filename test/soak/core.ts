/** Kills the core of a site with edges under load repeatedly. Prints a line per kill, with the time of the first successful wakeup. */
import { runCoreCrashes } from '../support/core-crashes.ts';
import type { Ending } from '../support/temporary-store.ts';
import { readNumbers } from './plan-options.ts';

const defaults = {
  kills: 50,
  edges: 2,
  fronts: 0,
  sessions: 5000,
  tls: 500,
  controllers: 200,
  wakeups: 500,
  queries: 200,
  seconds: 6,
};

export async function run(args: readonly string[], t: Ending): Promise<readonly string[]> {
  const plan = readNumbers(args, { ...defaults, seed: Date.now() % 1_000_000 });
  const { kills, wakeups, queries } = await runCoreCrashes(t, {
    ...plan,
    lifeMs: plan.seconds * 1000,
    report: (kill) => console.log(JSON.stringify(kill)),
  });
  const goodAfterMs = kills.map((kill) => kill.goodAfterMs).toSorted((one, other) => one - other);
  console.log(
    JSON.stringify({
      ...plan,
      good_after_ms: { median: goodAfterMs[goodAfterMs.length >> 1], worst: goodAfterMs.at(-1) },
      wakeups: wakeups.asked,
      queries: queries.asked,
    }),
  );
  return [...wakeups.failures, ...queries.failures].map(([what, count]) => `${count} times: ${what}`);
}
