/**
 * `reveille wakeups`: what is known of the wakeups that bear a request id: their packets, outcomes and events, and why others were
 * refused. Asked of the running server, with all its processes and nodes.
 */
import type { Command } from 'commander';
import type { RefusedWakeupJson, WakeupJson, WakeupsAnswer } from '../../gateways/admin/wakeup-routes.ts';
import type { WireEvent } from '../../gateways/admin/event-query.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { parseDeviceIdOption, parseRequestIdOption } from '../shell/option-values.ts';
import { alignColumns } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { opsClient } from './running-server.ts';

interface WakeupsOptions {
  readonly device?: string;
}

export function addWakeupsCommand(program: Command): void {
  program
    .command('wakeups')
    .description(
      'Show what is known of the wakeups of a request id: outcome, events and packet, or why it was refused. ' +
        'Exits 1 when nothing is known.',
    )
    .argument('<request>', 'request id, from the answer to the wakeup', parseRequestIdOption)
    .option('--device <id>', 'only of this device', parseDeviceIdOption)
    .addHelpText('after', examples('wakeups order-77 --device DOOR-1'))
    .action(inContext(showWakeups));
}

async function showWakeups(
  context: CommandContext,
  requestId: string,
  { device }: WakeupsOptions,
): Promise<void> {
  const { output } = context;
  const named = device === undefined ? {} : { device_id: device };
  const query = new URLSearchParams({ request_id: requestId.trim(), ...named });
  const answer = await opsClient(context).ask<WakeupsAnswer>('/v1/wakeups', query);
  const parts = partsOf(answer);
  if (parts.length === 0) output.refusal(answer, `nothing is known of wakeup ${showable(requestId)}`);
  else output.answer(answer, parts.join('\n\n'));
  if (answer.silent.length > 0) output.remark(`no answer came from ${answer.silent.join(', ')}`);
  output.remark(
    'each process remembers the latest refused wakeups since its start: older ones are in the log',
  );
}

function partsOf({ wakeups, events, refused }: WakeupsAnswer): string[] {
  return [
    ...(wakeups.length === 0 ? [] : [wakeupsTable(wakeups)]),
    ...(events.length === 0 ? [] : [eventsTable(events)]),
    ...(refused.length === 0 ? [] : [refusedTable(refused)]),
  ];
}

function wakeupsTable(wakeups: readonly WakeupJson[]): string {
  const heading = ['APPLICATION', 'DEVICE', 'STATUS', 'ACCEPTED', 'PACKET', 'WOKE AFTER', 'CAUSE'];
  const rows = wakeups.map((wakeup) => [
    wakeup.app_id,
    wakeup.device_id,
    wakeup.status,
    wakeup.accepted_at ?? 'nobody knows',
    wakeup.packet?.replaceAll(/..(?=.)/g, '$& ') ?? 'not noted',
    wakeup.already_online ? 'online already' : durationOf(wakeup.woke_after_ms),
    wakeup.cause,
  ]);
  const table = alignColumns([heading, ...rows]);
  const repeats = new Set(wakeups.flatMap(({ repeat_of: first }) => first ?? []));
  return [table, ...[...repeats].map((first) => `this id is a repeat of ${showable(first)}`)].join('\n');
}

function durationOf(ms: number | null): string | null {
  return ms === null ? null : `${ms} ms`;
}

function eventsTable(events: readonly WireEvent[]): string {
  const rows = events.map(({ at, type, device_id: device, seq, data }) => {
    const { request_id: _, ...rest } = data;
    return [at, type, device, seq, JSON.stringify(rest)];
  });
  return alignColumns([['AT', 'EVENT', 'DEVICE', 'SEQ', 'DATA'], ...rows]);
}

function refusedTable(refused: readonly RefusedWakeupJson[]): string {
  const rows = refused.map(({ at, app_id: app, proven, device_id: device, code, reason }) => [
    at,
    proven ? app : `claimed: ${app ?? 'no application id'}`,
    device,
    code,
    reason,
  ]);
  return alignColumns([['REFUSED', 'APPLICATION', 'DEVICE', 'CODE', 'REASON'], ...rows]);
}
