/** A wait that nothing ends early, by the given clock. */
import type { Clock } from './clock.ts';

/** Resolves after `ms` of monotonic time. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}
