/** `reveille cluster`: the nodes that form one server, as the local one sees them. Source: cluster.md. */
import type { Command } from 'commander';
import type { ClusterJson } from '../../server/membership/cluster-json.ts';
import { newCommand } from '../shell/command-context.ts';
import { asking } from './ops-action.ts';
import { tableOf } from '../shell/output.ts';

export function addClusterCommand(program: Command): void {
  const cluster = program.command('cluster').description('Show the nodes that are one server.');
  newCommand(
    cluster,
    'status',
    'Show each member: its state, its sessions, how far it is behind, and the age of that. Fails when one is not up, or ' +
      'the age exceeds 7.5 s.',
  ).action(
    asking('/v1/cluster', {
      say: (cluster: ClusterJson) => membersTable(cluster) + staleNotice(cluster),
      fails: ({ stale, members }) => stale || members.some(({ state }) => state !== 'up'),
    }),
  );
}

/** Behind the table; empty: it is as of now. */
function staleNotice({ stale, age_ms: ageMs }: ClusterJson): string {
  if (!stale) return '';
  const asOf =
    ageMs === null
      ? 'nothing is known of other members'
      : `other members are shown as of ${seconds(ageMs)} ago`;
  return `\n${asOf}: NATS does not answer; see reveille doctor`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** A dash stands for the process id of another node. */
function membersTable({ members }: ClusterJson): string {
  return tableOf(members, {
    member: ({ node }) => node,
    state: ({ state }) => state,
    pid: ({ pid }) => pid,
    sleep: (member) => member.sleep_sessions,
    signal: (member) => member.signal_sessions,
    outbox: (member) => member.outbox_length,
    lag: (member) => member.event_lag,
    age: (member) => seconds(member.lease_age_ms),
  });
}
