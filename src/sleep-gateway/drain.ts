/** Ends sessions at a rate, so that their modules do not all come back at once. Source: running.md, Stopping. */
import type { Clock } from '../base/clock.ts';
import type { DeadlineWheel } from '../base/deadline-wheel.ts';
import type { Sleeper } from './gatehouse.ts';

const stepMs = 100;

/** Resolves with the number of sessions left: 0, or what `deadlineMs` did not suffice for. */
export function drainSleepers(
  sleepers: DeadlineWheel<Sleeper>,
  clock: Clock,
  ratePerSecond: number,
  deadlineMs: number,
): Promise<number> {
  const startedMs = clock.monotonicMs();
  let drained = 0;
  return new Promise((resolve) => {
    const step = (): void => {
      const elapsedMs = clock.monotonicMs() - startedMs;
      const due = Math.floor((Math.min(elapsedMs, deadlineMs) / 1000) * ratePerSecond);
      for (const sleeper of sleepers.pick(due - drained)) sleeper.end('drain');
      drained = due;
      if (sleepers.size > 0 && elapsedMs < deadlineMs) return;
      cancel();
      resolve(sleepers.size);
    };
    const cancel = clock.every(stepMs, step);
    if (sleepers.size === 0) step();
  });
}
