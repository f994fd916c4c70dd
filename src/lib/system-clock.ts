// Imported, because it is a getter as a global, which costs more than the clock.
import { performance } from 'node:perf_hooks';
import type { Cancel, Clock } from './clock.ts';

/** Added to monotonic milliseconds of this thread, it gives a time base that other threads share: they subtract their own. */
export function monotonicOriginMs(): number {
  // The time between its two clock readings makes a result too small, by milliseconds when the second clock is still loading.
  return Math.max(...Array.from({ length: 3 }, readOriginMs));
}

function readOriginMs(): number {
  return Number(process.hrtime.bigint()) / 1e6 - performance.now();
}

export class SystemClock implements Clock {
  monotonicMs(): number {
    return performance.now();
  }

  wallMs(): number {
    return Date.now();
  }

  after(delayMs: number, run: () => void): Cancel {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  }

  every(intervalMs: number, run: () => void): Cancel {
    const timer = setInterval(run, intervalMs);
    return () => clearInterval(timer);
  }
}
