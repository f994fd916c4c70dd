/** Ends what is on a wheel at a rate, so that their peers do not all come back at once. Source: running.md, Stopping. */
import type { Clock } from './clock.ts';
import type { DeadlineWheel, WheelEntry } from './deadline-wheel.ts';

const stepMs = 100;

/** `end` takes its entry off the wheel. Resolves with the number left: 0, or what `deadlineMs` did not suffice for. */
export function drain<Entry extends WheelEntry>(
  entries: DeadlineWheel<Entry>,
  clock: Clock,
  ratePerSecond: number,
  deadlineMs: number,
  end: (entry: Entry) => void,
): Promise<number> {
  const startedMs = clock.monotonicMs();
  let drained = 0;
  return new Promise((resolve) => {
    const step = (): void => {
      const elapsedMs = clock.monotonicMs() - startedMs;
      const due = Math.floor((Math.min(elapsedMs, deadlineMs) / 1000) * ratePerSecond);
      for (const entry of entries.pick(due - drained)) end(entry);
      drained = due;
      if (entries.size > 0 && elapsedMs < deadlineMs) return;
      cancel();
      resolve(entries.size);
    };
    const cancel = clock.every(stepMs, step);
    if (entries.size === 0) step();
  });
}
