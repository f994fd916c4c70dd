/** Sources of the gauges. Some parts start after the metrics, and some belong to other processes. */
import type { CoreSite } from '../site/core-task.ts';
import { siteProcesses } from '../site/site-route.ts';
import type { StoreHealth } from './store-health.ts';
import type { Provisioner } from '../../core/devices/provision-devices.ts';
import type { FrontsFigures } from '../../telemetry/front-gauges.ts';
import type { ClusterFigures, MetricSources, ServerFigures } from '../../telemetry/gauges.ts';
import type { CallService } from './call-service.ts';
import type { ListenerConnections } from './listener-connections.ts';

const noSessions = { sleep: { sessionCount: 0 }, signal: { sessionCount: 0 } };

interface SessionCount {
  readonly sessionCount: number;
}

/** Parts that start later; null: not yet, or in another process. */
export interface CountedParts {
  deviceListeners: { readonly sleep: SessionCount; readonly signal: SessionCount };
  /** Null: this process holds the sleep connections. */
  site: CoreSite | null;
  fronts: { readonly figures: FrontsFigures } | null;
  calls: CallService | null;
  provisioner: Pick<Provisioner, 'carryOut'> | null;
  member: { figures(): ClusterFigures | null } | null;
  figures: ServerFigures | null;
  storeHealth: Pick<StoreHealth, 'figures' | 'foundFault' | 'isDamaged'> | null;
}

export function noPartsYet(): CountedParts {
  const noneOfOthers = { fronts: null, calls: null, provisioner: null, member: null, figures: null };
  return { deviceListeners: noSessions, site: null, ...noneOfOthers, storeHealth: null };
}

export function metricSources(own: CountedParts, connections: ListenerConnections): MetricSources {
  return {
    sleepSessions: () => own.deviceListeners.sleep.sessionCount,
    signalSessions: () => own.deviceListeners.signal.sessionCount,
    calls: () => own.calls?.directory.countByState(),
    mediaLegs: () => own.calls?.service.counts(),
    callsWaiting: () => own.calls?.bridges.countWaiting(),
    mediaCapacity: () => own.calls?.mediaProcesses.capacity() ?? [],
    mediaUp: () =>
      own.calls?.mediaProcesses.connections.filter(({ address }) => address !== null).length ?? 0,
    processes: () =>
      own.site === null
        ? []
        : siteProcesses(own).map(({ name, state, restarts }) => ({ name, isUp: state === 'up', restarts })),
    fronts: () => own.fronts?.figures ?? null,
    connections: () => connections.counts(),
    store: () => own.storeHealth?.figures ?? null,
    cluster: () => own.member?.figures() ?? null,
    server: () => own.figures,
  };
}
