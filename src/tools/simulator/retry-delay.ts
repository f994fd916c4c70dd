/** How long a device that lost its connection waits. Source: signal-wire.md, welcome. */
import type { SleepAdvice } from '../../protocol/signal/server-message.ts';

type RetryAdvice = SleepAdvice['retry'];

/** For a device that was told nothing yet: what the server tells all of them. */
const usualRetry: RetryAdvice = { minSeconds: 2, maxSeconds: 300, jitter: 0.5 };

/**
 * Milliseconds before the next attempt after `failures` (from 1) in a row. Doubles each time; up to `jitter` of it is
 * added by chance, so that what was lost together does not come back together. `random`: 0 to below 1.
 */
export function retryDelayMs(failures: number, random: number, advice: RetryAdvice = usualRetry): number {
  const doubled = advice.minSeconds * 2 ** Math.min(failures - 1, 30);
  return Math.min(advice.maxSeconds, doubled * (1 + advice.jitter * random)) * 1000;
}
