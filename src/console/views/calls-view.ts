/** Live calls: their state and legs, a link to the page of each, and ending it. */
import type { CallJson, MediaProcessJson } from '../../gateways/admin/call-routes.ts';
import { actionButton } from '../actions.ts';
import { el } from '../dom.ts';
import {
  badge,
  dataTable,
  linkTo,
  linkToCall,
  moment,
  poll,
  Trouble,
  type Page,
  type View,
} from '../page.ts';
import { plural } from '../text.ts';

const everyMs = 5000;
const shownMax = 200;

interface Capacity {
  readonly processes: readonly MediaProcessJson[];
  readonly room: number;
}

export function openCalls(page: Page): View {
  const trouble = new Trouble();
  const capacity = el('p', {});
  const list = el('div', {}, el('p', {}, 'Looking …'));
  let shown = '';
  const look = async (): Promise<void> => {
    const [{ calls, more }, { processes, room }] = await Promise.all([
      page.client.read<{ readonly calls: readonly CallJson[]; readonly more: boolean }>('/v1/calls', {
        limit: shownMax,
      }),
      page.client.read<Capacity>('/v1/calls/capacity'),
    ]);
    capacity.textContent =
      processes.length === 0
        ? 'No media process is connected: calls carry no pictures.'
        : `Room for ${plural(room, 'more call')} in ${plural(processes.length, 'media process', 'media processes')}.`;
    const now = JSON.stringify([calls, more]);
    if (now === shown) return;
    shown = now;
    const rest = more ? [el('p', { class: 'faint' }, `These are ${shownMax}; there are more.`)] : [];
    list.replaceChildren(
      ...(calls.length === 0 ? [el('p', {}, 'No live call.')] : [callsTable(page, calls), ...rest]),
    );
  };
  const stop = poll(everyMs, look, trouble.show);
  return { title: 'Calls', content: el('div', {}, trouble.element, capacity, list), close: stop };
}

const columns = [
  { name: 'Device' },
  { name: 'State' },
  { name: 'Since', isWide: true },
  { name: 'Legs', isWide: true },
  { name: 'What to do' },
];

export function callsTable(page: Page, calls: readonly CallJson[]): HTMLElement {
  const rows = calls.map((call) => [
    el('a', { href: linkTo('device', { id: call.device_id }) }, el('bdi', {}, call.device_id)),
    el('span', {}, badge(call.state, call.state === 'connected' ? 'good' : 'calm'), waits(call)),
    moment(Date.parse(call.created_at)),
    legsOf(call),
    el('span', { class: 'buttons' }, ...callActions(page, call)),
  ]);
  return dataTable('Live calls', columns, rows);
}

function waits({ waits_for: waitsFor }: CallJson): string {
  return waitsFor === null
    ? ''
    : ` waits for ${waitsFor === 'bridge' ? 'a bridge' : waitsFor === 'load' ? 'load to fall' : 'a decoder'}`;
}

function legsOf({ legs }: CallJson): string {
  const there = [...(legs.device ? ['device'] : []), ...(legs.bridge ? ['bridge'] : [])];
  return there.length === 0 ? 'none yet' : there.join(', ');
}

/** None for a viewer: only an operator may watch a call or end it. */
function callActions(page: Page, call: CallJson): HTMLElement[] {
  const end = endOf(page, call);
  if (end === null) return [];
  const watch = el('a', { class: 'button', href: linkToCall(call.session) }, 'Watch');
  watch.setAttribute('aria-label', `Watch the call of ${call.device_id}`);
  return [watch, end];
}

/** The button that ends the call; null for a viewer. */
export function endOf(page: Page, { session, device_id: deviceId }: CallJson): HTMLElement | null {
  return actionButton(page, {
    verb: 'End',
    object: `the call of ${deviceId}`,
    meaning: 'The call ends now for the device and the phone, as cancelled.',
    isDanger: true,
    run: async () => {
      await page.client.change('/v1/calls/end', { session });
      return `The call of ${deviceId} has ended.`;
    },
  });
}
