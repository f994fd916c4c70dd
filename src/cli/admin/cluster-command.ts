/** `reveille cluster`: the processes and nodes that form one server, as the local one sees them. Source: cluster.md. */
import type { Command } from 'commander';
import type { ClusterJson, MemberJson } from '../../server/membership/cluster-json.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { opsClient } from './running-server.ts';
import { alignColumns, type Cell } from '../shell/output.ts';

export function addClusterCommand(program: Command): void {
  const cluster = program
    .command('cluster')
    .description('Show the processes and nodes that are one server, and restart its processes.');
  cluster
    .command('status')
    .description(
      'Show each member: its state, its sessions, how far it is behind, and the age of that. Fails when one is not up, or ' +
        'the age exceeds 7.5 s.',
    )
    .addHelpText('after', examples('cluster status'))
    .action(inContext(showStatus));
  cluster
    .command('restart')
    .description(
      'Replace the worker processes of this machine, one after another, as an upgrade does; sleeping devices stay ' +
        'connected. It returns at once.',
    )
    .addHelpText('after', examples('cluster restart && reveille cluster status'))
    .action(inContext(restartWorkers));
}

async function showStatus(context: CommandContext): Promise<void> {
  const cluster = await opsClient(context).ask<ClusterJson>('/v1/cluster');
  const table = alignColumns([head, ...cluster.members.map(rowOf)]);
  context.output.answer(cluster, table + staleNotice(cluster));
  if (cluster.stale || cluster.members.some(({ state }) => state !== 'up')) process.exitCode = 1;
}

async function restartWorkers(context: CommandContext): Promise<void> {
  const client = opsClient(context);
  const { members } = await client.ask<ClusterJson>('/v1/cluster');
  if (!members.some(({ role }) => role === 'worker'))
    throw new CommandError(
      'this server is one process and has no workers',
      `let it hand over to a new one: ${reveilleCommand('upgrade')}`,
    );
  const answer = await client.change<object>('/v1/cluster/restart', {});
  context.output.answer(
    answer,
    `the workers hand over to new ones, one after another; see ${reveilleCommand('cluster status')}`,
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

const head = ['member', 'role', 'state', 'pid', 'sleep', 'signal', 'outbox', 'lag', 'age', 'restarts'];

/** A dash stands for what a member that does not answer leaves unknown. */
function rowOf(member: MemberJson): Cell[] {
  const { node, process, role, state, lease_age_ms: leaseMs } = member;
  return [
    node === undefined ? process : `${node}/${process}`,
    role,
    state,
    member.pid,
    member.sleep_sessions,
    member.signal_sessions,
    member.outbox_length,
    member.event_lag,
    leaseMs === undefined ? null : seconds(leaseMs),
    member.restarts,
  ];
}
