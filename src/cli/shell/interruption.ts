/** Work and waits that the user of a command may end. */
import type { Clock } from '../../lib/clock.ts';

/** Aborts `work` on the first Ctrl-C or SIGTERM; a second one ends the process at once. */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const interrupt = (): void => {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    interruption.abort();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  await work(interruption.signal);
}

/** Resolves after `ms` of monotonic time, or when `signal` is aborted. */
export function pauseUnless(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end);
  });
}
