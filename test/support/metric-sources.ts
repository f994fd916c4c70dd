/** Sources of the metrics for a scrape; everything is empty unless a test sets it. */
import type { MetricSources } from '../../src/telemetry/gauges.ts';

export function metricSources(overrides: Partial<MetricSources> = {}): MetricSources {
  return {
    sleepSessions: () => 0,
    signalSessions: () => 0,
    connections: () => ({ api: 0, ops: 0, sleep: 0, signal: 0 }),
    calls: () => ({ issued: 0, establishing: 0, ringing: 0, attempting: 0, connected: 0 }),
    mediaLegs: () => ({ device: 0, bridge: 0, idle_bridge: 0, viewer: 0 }),
    callsWaiting: () => ({ bridge: 0, load: 0, engine: 0 }),
    mediaCapacity: () => [],
    mediaUp: () => 0,
    processes: () => [],
    fronts: () => null,
    store: () => null,
    cluster: () => null,
    server: () => null,
    ...overrides,
  };
}
