/** `GET /v1/cluster` on the ops listener, as it is written. */
import { memberKnowledgeMsMax, shownState, type MemberStatus } from '../../model/cluster.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';

/** `read` never rejects. `ageMs`: of what is known of the others; null: nothing is. */
export function clusterRoute(
  read: () => Promise<readonly MemberJson[]>,
  ageMs: () => number | null = () => 0,
): AdminRoute {
  const handle = async (): Promise<ClusterJson> => {
    const members = await read();
    const age = ageMs();
    return { age_ms: age, stale: age === null || age > memberKnowledgeMsMax, members };
  };
  return { method: 'GET', path: '/v1/cluster', handle };
}

export interface ClusterJson {
  /** Age of what this member knows of the others, milliseconds; null: it has not heard of them yet. */
  readonly age_ms: number | null;
  /** True: the knowledge is too old: members may have come or gone. */
  readonly stale: boolean;
  readonly members: readonly MemberJson[];
}

/** Times are wall milliseconds. */
export interface MemberJson extends ReturnType<typeof memberJson> {
  /** The process id of the member that answers. */
  readonly pid?: number;
}

export function memberJson(status: MemberStatus) {
  return {
    /** `silent`: its last sign of life is too old. */
    state: shownState(status),
    member: status.member,
    node: status.node,
    version: status.version,
    started_at_ms: status.startedAtMs,
    sleep_sessions: status.sleepSessions,
    signal_sessions: status.signalSessions,
    /** Changes that are on their way to the others. */
    outbox_length: status.outboxLength,
    /** Events of the log that it has not seen yet. */
    event_lag: status.eventLag,
    /** Milliseconds since its last sign of life: what else is said of it is as of then. */
    lease_age_ms: status.leaseAgeMs,
  };
}
