/** `reveille cluster`: lists the nodes of the cluster as the local node sees them. Source: cluster.md. */
import type { Command } from 'commander';
import type { ClusterJson } from '../../server/membership/cluster-json.ts';
import { newCommand } from '../shell/command-context.ts';
import { asking } from './ops-action.ts';
import { tableOf } from '../shell/output.ts';

export function addClusterCommand(program: Command): void {
  const cluster = program.command('cluster').description('Show the nodes of the cluster.');
  newCommand(
    cluster,
    'status',
    'Show each member with its state, sessions and lag, and the age of that information. Fails if a member is not up, or ' +
      'the age exceeds 7.5 s.',
  ).action(
    asking('/v1/cluster', {
      describe: (cluster: ClusterJson) => membersTable(cluster) + staleNotice(cluster),
      fails: ({ stale, members }) => stale || members.some(({ state }) => state !== 'up'),
    }),
  );
}

/** A remark on the age of the table; empty while it is current. */
function staleNotice({ stale, age_ms: ageMs }: ClusterJson): string {
  if (!stale) return '';
  const asOf =
    ageMs === null
      ? 'the state of other members is unknown'
      : `the state of other members is ${seconds(ageMs)} old`;
  return `\n${asOf}: NATS does not answer; run reveille doctor`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** The process id of another node is unknown, so the cell is a dash. */
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
