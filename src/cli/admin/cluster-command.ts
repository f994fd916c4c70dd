/** `reveille cluster`: the nodes that form one server, as the local one sees them. Source: cluster.md. */
import type { Command } from 'commander';
import type { ClusterJson, MemberJson } from '../../server/membership/cluster-json.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { opsClient } from './running-server.ts';
import { alignColumns, type Cell } from '../shell/output.ts';

export function addClusterCommand(program: Command): void {
  const cluster = program.command('cluster').description('Show the nodes that are one server.');
  cluster
    .command('status')
    .description(
      'Show each member: its state, its sessions, how far it is behind, and the age of that. Fails when one is not up, or ' +
        'the age exceeds 7.5 s.',
    )
    .addHelpText('after', examples('cluster status'))
    .action(inContext(showStatus));
}

async function showStatus(context: CommandContext): Promise<void> {
  const cluster = await opsClient(context).ask<ClusterJson>('/v1/cluster');
  const table = alignColumns([head, ...cluster.members.map(rowOf)]);
  context.output.answer(cluster, table + staleNotice(cluster));
  if (cluster.stale || cluster.members.some(({ state }) => state !== 'up')) process.exitCode = 1;
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

const head = ['member', 'state', 'pid', 'sleep', 'signal', 'outbox', 'lag', 'age'];

/** A dash stands for the process id of another node. */
function rowOf(member: MemberJson): Cell[] {
  return [
    `${member.node}/${member.process}`,
    member.state,
    member.pid,
    member.sleep_sessions,
    member.signal_sessions,
    member.outbox_length,
    member.event_lag,
    seconds(member.lease_age_ms),
  ];
}
