/** The clock of a running process. */
import type { Cancel, Clock } from './clock.ts';

/** Add it to monotonic milliseconds of this thread: another thread subtracts its own. */
export function monotonicOriginMs(): number {
  // A reading is too small by the time between its two clocks: by milliseconds where the second is loaded then.
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
