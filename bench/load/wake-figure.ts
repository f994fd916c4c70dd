/** What figures of wakeups have in common: idle, one at a time, and loaded, at a rate. */
import type { Figure } from './figure.ts';
import type { WakeReading } from './load-protocol.ts';

export const wakeConnections = 64;

/** High enough never to be met; in a row with the rate, for what a burst allows follows from it. */
export const raisedWakeupLimits = {
  REVEILLE_WAKEUP_DEVICE_PER_SECOND: '1000',
  REVEILLE_WAKEUP_APPLICATION_PER_SECOND: '100000',
};

export const wakeColumns: Figure['columns'] = [
  { metric: 'idleP50', title: 'idle p50 ms', digits: 3 },
  { metric: 'idleP99', title: 'idle p99 ms', digits: 3 },
  { metric: 'rate', title: 'wakeups/s', digits: 0 },
  { metric: 'loadedP50', title: 'loaded p50 ms', digits: 3 },
  { metric: 'loadedP99', title: 'loaded p99 ms', digits: 3 },
];

export function wakeMetrics(idle: WakeReading, loaded: WakeReading): Record<string, number> {
  return {
    idleP50: idle.wake.p50Ms,
    idleP99: idle.wake.p99Ms,
    rate: loaded.answers.ratePerSecond,
    loadedP50: loaded.wake.p50Ms,
    loadedP99: loaded.wake.p99Ms,
  };
}
