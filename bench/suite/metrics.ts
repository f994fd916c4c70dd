/** What counting one request costs, which happens on every one of them, and a line of the request log, where all have one. */
import { openSync } from 'node:fs';
import type { Bench } from 'tinybench';
import { RequestLog } from '../../src/core/requests/request-log.ts';
import type { ApplicationId, RequestId } from '../../src/model/ids.ts';
import { openLog } from '../../src/server/bootstrap/logging.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { DrivenClock } from '../../test/support/driven-clock.ts';
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
  const clock = new DrivenClock();
  const { log, close } = openLog({ level: 'info', format: 'json' }, openSync('/dev/null', 'a'));
  const requests = new RequestLog('all', clock, log);
  const appId = '2818153' as ApplicationId;
  bench.add(
    'requests: one line of the request log',
    sampleOf((call) => {
      // A second of its own for each sample, so that no line is left out.
      if (call === 0) clock.advance(1000);
      requests.note({
        requestId: '01a2085a-85f0-73ad-bd05-049cd6b17300' as RequestId,
        appId,
        claimedAppId: appId,
        reply: { code: 0, message: 'success' },
        http: { route: 'connectivity', status: 200, seconds: (call % 40) / 10_000 },
      });
    }),
  );
  return Promise.resolve(close);
}
