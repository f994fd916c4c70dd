/** What this process says of itself to those that are one server with it, and to operators. */
import { readVersion } from '../../lib/package-version.ts';
import type { MemberStatus } from '../../model/cluster.ts';
import type { DeviceDoors } from '../bootstrap/doors.ts';
import type { House } from '../bootstrap/house.ts';

export type OwnLife = Pick<MemberStatus, 'member' | 'process' | 'startedAtMs'>;

/** Of one that has its store in common with the others, or none beside it: nothing is on its way from one to another. */
export function memberStatus(
  { node, readiness }: House,
  life: OwnLife,
  doors: DeviceDoors | null,
): MemberStatus {
  return {
    ...life,
    node,
    state: readiness.has('draining') ? 'draining' : 'up',
    version: readVersion(),
    sleepSessions: doors?.sleep.sessionCount ?? 0,
    signalSessions: doors?.signal.sessionCount ?? 0,
    outboxLength: 0,
    eventLag: 0,
    leaseAgeMs: 0,
  };
}
