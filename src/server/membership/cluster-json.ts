/** JSON of `GET /v1/cluster` on the ops listener. */
import { memberKnowledgeMsMax, shownState, type MemberStatus } from '../../model/cluster.ts';
import type { AdminRoute } from '../../gateways/ops/admin-route.ts';

/** `read` never rejects. `ageMs`: age of the knowledge about other members; null: none. */
export function clusterRoute(
  read: () => Promise<readonly MemberJson[]>,
  ageMs: () => number | null = () => 0,
): AdminRoute {
  const handle = async () => clusterJson(await read(), ageMs());
  return { method: 'GET', path: '/v1/cluster', handle };
}

export type ClusterJson = ReturnType<typeof clusterJson>;

/** `stale`: the knowledge is outdated: members may have joined or left. */
function clusterJson(members: readonly MemberJson[], ageMs: number | null) {
  return { age_ms: ageMs, stale: ageMs === null || ageMs > memberKnowledgeMsMax, members };
}

/** Times are wall milliseconds. */
export interface MemberJson extends ReturnType<typeof memberJson> {
  /** Process id of the answering member. */
  readonly pid?: number;
}

export function memberJson(status: MemberStatus) {
  return {
    /** `silent`: its lease is too old. */
    state: shownState(status),
    member: status.member,
    node: status.node,
    version: status.version,
    started_at_ms: status.startedAtMs,
    sleep_sessions: status.sleepSessions,
    signal_sessions: status.signalSessions,
    /** Changes not yet published to other members. */
    outbox_length: status.outboxLength,
    /** Events of the log not yet received by it. */
    event_lag: status.eventLag,
    /** Milliseconds since its last lease renewal; the other fields are as old. */
    lease_age_ms: status.leaseAgeMs,
  };
}
