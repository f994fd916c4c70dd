/** What this process says of itself to those that are one server with it, and to operators. */
import { readVersion } from '../../lib/package-version.ts';
import type { MemberStatus } from '../../model/cluster.ts';
import type { DeviceListeners } from '../bootstrap/device-listeners.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';

export type OwnLife = Pick<MemberStatus, 'member' | 'process' | 'startedAtMs'>;

/** Of one that has its store in common with the others, or none beside it: nothing is on its way from one to another. */
export function memberStatus(
  { node, readiness }: ServerContext,
  life: OwnLife,
  deviceListeners: DeviceListeners | null,
): MemberStatus {
  return {
    ...life,
    node,
    state: readiness.has('draining') ? 'draining' : 'up',
    version: readVersion(),
    sleepSessions: deviceListeners?.sleep.sessionCount ?? 0,
    signalSessions: deviceListeners?.signal.sessionCount ?? 0,
    outboxLength: 0,
    eventLag: 0,
    leaseAgeMs: 0,
  };
}
