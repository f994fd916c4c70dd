/** The gauges read at a scrape, of the parts that this process has by then; what it has not counts nothing. */
import { liveCallStates } from '../../model/call.ts';
import type { MetricSources } from '../../telemetry/metric-gauges.ts';
import type { ListenerConnections } from './listener-connections.ts';
import type { ClusterFigures } from '../../telemetry/metric-gauges.ts';
import type { CallService } from './call-service.ts';

const noCalls = Object.fromEntries(liveCallStates.map((state) => [state, 0])) as ReturnType<
  MetricSources['calls']
>;
const noLegs = { device: 0, bridge: 0, idle_bridge: 0, viewer: 0 };

interface SessionCount {
  readonly sessionCount: number;
}

/** The parts that come later in the order of a start; null: not yet, or another process has it. */
export interface CountedParts {
  deviceListeners: { readonly sleep: SessionCount; readonly signal: SessionCount } | null;
  calls: CallService | null;
  member: { figures(): ClusterFigures | null } | null;
}

export function metricSources(own: CountedParts, connections: ListenerConnections): MetricSources {
  return {
    sleepSessions: () => own.deviceListeners?.sleep.sessionCount ?? 0,
    signalSessions: () => own.deviceListeners?.signal.sessionCount ?? 0,
    calls: () => own.calls?.directory.countByState() ?? noCalls,
    mediaLegs: () => own.calls?.service.counts() ?? noLegs,
    mediaLoads: () => own.calls?.mediaConnection.counts()?.loads ?? [],
    mediaIsUp: () => (own.calls?.mediaConnection.address ?? null) !== null,
    connections: () => connections.counts(),
    cluster: () => own.member?.figures() ?? null,
  };
}
