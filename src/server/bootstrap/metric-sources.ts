/** What is counted at a scrape, of the parts that this process has; what it has not counts nothing. */
import { liveCallStates } from '../../model/call.ts';
import type { MetricSources } from '../../telemetry/metric-gauges.ts';
import type { OwnServices } from '../membership/membership.ts';

const noCalls = Object.fromEntries(liveCallStates.map((state) => [state, 0])) as ReturnType<
  MetricSources['calls']
>;
const noLegs = { device: 0, bridge: 0, idle_bridge: 0, viewer: 0 };

/** `parts` is asked at a scrape. */
export function metricSources(
  parts: () => OwnServices,
  connections: MetricSources['connections'],
  cluster: MetricSources['cluster'],
): MetricSources {
  return {
    sleepSessions: () => parts().deviceListeners?.sleep.sessionCount ?? 0,
    signalSessions: () => parts().deviceListeners?.signal.sessionCount ?? 0,
    calls: () => parts().calls?.directory.countByState() ?? noCalls,
    mediaLegs: () => parts().calls?.service.counts() ?? noLegs,
    mediaLoads: () => parts().calls?.mediaConnection.counts()?.loads ?? [],
    mediaIsUp: () => (parts().calls?.mediaConnection.address ?? null) !== null,
    connections,
    cluster,
  };
}
