/** Live calls: their state and legs, with actions to watch and to end each. */
import type { CallJson, MediaProcessJson } from '../../gateways/admin/call-routes.ts';
import { actionButton } from '../actions.ts';
import { el } from '../dom.ts';
import { dataTable, polledView } from '../lists.ts';
import { badge, deviceLink, linkToCall, moment, type Page, type View } from '../page.ts';
import { plural } from '../text.ts';

const everyMs = 5000;
const shownMax = 200;

interface Calls {
  readonly calls: readonly CallJson[];
  readonly more: boolean;
}

interface Capacity {
  readonly processes: readonly MediaProcessJson[];
  readonly room: number;
}

export function openCalls(page: Page): View {
  const read = () =>
    Promise.all([
      page.client.read<Calls>('/v1/calls', { limit: shownMax }),
      page.client.read<Capacity>('/v1/calls/capacity'),
    ]);
  return polledView('Calls', everyMs, read, ([{ calls, more }, capacity]) => [
    el('p', {}, describeCapacity(capacity)),
    callsTable(page, calls),
    ...(more ? [el('p', { class: 'faint' }, `Only the first ${shownMax} are shown.`)] : []),
  ]);
}

function describeCapacity({ processes, room }: Capacity): string {
  return processes.length === 0
    ? 'No media process is connected: calls carry no pictures.'
    : `Room for ${plural(room, 'more call')} in ${plural(processes.length, 'media process', 'media processes')}.`;
}

export function callsTable(page: Page, calls: readonly CallJson[]): HTMLElement {
  return dataTable('Live calls', 'No live call.', calls, [
    { name: 'Device', cell: (call) => deviceLink(call.device_id) },
    { name: 'State', cell: stateOf },
    { name: 'Created', cell: (call) => moment(Date.parse(call.created_at)), isWide: true },
    { name: 'Legs', cell: legsOf, isWide: true },
    { name: 'Actions', cell: (call) => el('span', { class: 'buttons' }, ...callActions(page, call)) },
  ]);
}

function stateOf(call: CallJson): HTMLElement {
  return el('span', {}, badge(call.state, call.state === 'connected' ? 'good' : 'calm'), waits(call));
}

function waits({ waits_for: waitsFor }: CallJson): string {
  return waitsFor === null
    ? ''
    : ` waits for ${waitsFor === 'bridge' ? 'a bridge' : waitsFor === 'load' ? 'a lower load' : 'a decoder'}`;
}

function legsOf({ legs }: CallJson): string {
  const there = [...(legs.device ? ['device'] : []), ...(legs.bridge ? ['bridge'] : [])];
  return there.length === 0 ? 'none yet' : there.join(', ');
}

/** Empty for a viewer: only an operator may watch or end a call. */
function callActions(page: Page, call: CallJson): HTMLElement[] {
  const end = endOf(page, call);
  if (end === null) return [];
  const watch = el('a', { class: 'button', href: linkToCall(call.session) }, 'Watch');
  watch.setAttribute('aria-label', `Watch the call of ${call.device_id}`);
  return [watch, end];
}

/** Null for a viewer. */
export function endOf(page: Page, { session, device_id: deviceId }: CallJson): HTMLElement | null {
  return actionButton(page, {
    verb: 'End',
    object: `the call of ${deviceId}`,
    meaning: 'The call ends now for the device and the phone, with the reason cancelled.',
    isDanger: true,
    run: async () => {
      await page.client.change('/v1/calls/end', { session });
      return `The call of ${deviceId} has ended.`;
    },
  });
}
