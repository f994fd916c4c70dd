/** What counting one request costs: it happens on every one of them. */
import type { Bench } from 'tinybench';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { metricSources } from '../../test/support/metric-sources.ts';

const answers = [
  ['connectivity', 200, 0],
  ['wakeup', 202, 0],
  ['wakeup', 404, 40412],
  ['wakeup', 429, 42901],
] as const;

/** A call is shorter than the timer's step, so that a sample is many of them; it reports the mean. */
const callsPerSample = 1000;

export function register(bench: Bench): Promise<() => Promise<void>> {
  const metrics = createMetrics(metricSources());
  const sampleOf = (count: (call: number) => void) => () => {
    const startMs = bench.now();
    for (let call = 0; call < callsPerSample; call++) count(call);
    const spentMs = bench.now() - startMs;
    return { overriddenDuration: spentMs / callsPerSample, overriddenIterationCost: spentMs };
  };
  bench.add(
    'metrics: one request counted',
    sampleOf((call) => {
      const [route, status, code] = answers[call & 3] ?? answers[0];
      metrics.httpRequest(route, status, code, (call % 40) / 10_000);
    }),
  );
  bench.add(
    'metrics: one wakeup counted',
    sampleOf((call) => {
      metrics.wakeup('accepted');
      metrics.wakeupWrite((call % 40) / 10_000);
    }),
  );
  return Promise.resolve(() => Promise.resolve());
}
