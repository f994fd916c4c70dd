/**
 * `reveille wakeups`: prints what the running server, with all its processes and nodes, has recorded about the wakeups of a
 * request id: packets, outcomes and events, and the reasons of refusals.
 */
import type { Command } from 'commander';
import type { RefusedWakeupJson, WakeupJson, WakeupsAnswer } from '../../gateways/admin/wakeup-routes.ts';
import type { WireEvent } from '../../gateways/admin/event-query.ts';
import { newCommand, type CommandContext, inContext } from '../shell/command-context.ts';
import { parseDeviceIdOption, parseRequestIdOption } from '../shell/option-values.ts';
import { tableOf } from '../shell/output.ts';
import { showable } from '../../lib/showable-text.ts';
import { opsClient } from './running-server.ts';

export function addWakeupsCommand(program: Command): void {
  newCommand(
    program,
    'wakeups',
    'Show the wakeups of a request id with outcome, events and packet, or the reason of their refusal. ' +
      'Exits 1 if there are none.',
    'order-77 --device DOOR-1',
  )
    .argument('<request>', 'the request id in the answer to the wakeup', parseRequestIdOption)
    .option('--device <id>', 'show only wakeups of this device', parseDeviceIdOption)
    .action(inContext(showWakeups));
}

async function showWakeups(
  context: CommandContext,
  requestId: string,
  { device }: { readonly device?: string },
): Promise<void> {
  const { output } = context;
  const query = { request_id: requestId.trim(), device_id: device };
  const answer = await opsClient(context).ask<WakeupsAnswer>('/v1/wakeups', query);
  const parts = partsOf(answer);
  if (parts.length === 0) output.refusal(answer, `no wakeup has the request id ${showable(requestId)}`);
  else output.answer(answer, parts.join('\n\n'));
  if (answer.silent.length > 0) output.remark(`no answer came from ${answer.silent.join(', ')}`);
  output.remark('each process remembers only its latest refused wakeups: look for older ones in the log');
}

function partsOf({ wakeups, events, refused }: WakeupsAnswer): string[] {
  return [
    ...(wakeups.length === 0 ? [] : [wakeupsTable(wakeups)]),
    ...(events.length === 0 ? [] : [eventsTable(events)]),
    ...(refused.length === 0 ? [] : [refusedTable(refused)]),
  ];
}

function wakeupsTable(wakeups: readonly WakeupJson[]): string {
  const table = tableOf(wakeups, {
    APPLICATION: (wakeup) => wakeup.app_id,
    DEVICE: (wakeup) => wakeup.device_id,
    STATUS: ({ status }) => status,
    ACCEPTED: (wakeup) => wakeup.accepted_at ?? 'nobody knows',
    PACKET: ({ packet }) => packet?.replaceAll(/..(?=.)/g, '$& ') ?? 'not noted',
    'WOKE AFTER': (wakeup) => (wakeup.already_online ? 'online already' : durationOf(wakeup.woke_after_ms)),
    CAUSE: ({ cause }) => cause,
  });
  const repeats = new Set(wakeups.flatMap(({ repeat_of: first }) => first ?? []));
  return [table, ...[...repeats].map((first) => `this id is a repeat of ${showable(first)}`)].join('\n');
}

function durationOf(ms: number | null): string | null {
  return ms === null ? null : `${ms} ms`;
}

function eventsTable(events: readonly WireEvent[]): string {
  return tableOf(events, {
    AT: ({ at }) => at,
    EVENT: ({ type }) => type,
    DEVICE: (event) => event.device_id,
    SEQ: ({ seq }) => seq,
    DATA: ({ data }) => {
      const { request_id: _, ...rest } = data;
      return JSON.stringify(rest);
    },
  });
}

function refusedTable(refused: readonly RefusedWakeupJson[]): string {
  return tableOf(refused, {
    REFUSED: ({ at }) => at,
    APPLICATION: ({ app_id: app, proven }) => (proven ? app : `claimed: ${app ?? 'no application id'}`),
    DEVICE: (wakeup) => wakeup.device_id,
    CODE: ({ code }) => code,
    REASON: ({ reason }) => reason,
  });
}
