/** A wait with an end, by the given clock. */
import type { Clock } from './clock.ts';

/** True as soon as `work` is done; false when it is not within `ms` of monotonic time, or has failed. Never rejects. */
export function settlesWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const giveUp = clock.after(ms, () => resolve(false));
    const settle = (isDone: boolean): void => {
      giveUp();
      resolve(isDone);
    };
    work.then(
      () => settle(true),
      () => settle(false),
    );
  });
}
