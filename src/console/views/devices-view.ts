/** Devices by part of their id, label, product and state, one page at a time. */
import type { DeviceListJson, ListedDeviceJson } from '../../gateways/admin/device-list-route.ts';
import type { ListedState } from '../../model/peer.ts';
import { actionButtons } from '../actions.ts';
import { addDevice } from './device-actions.ts';
import { el } from '../dom.ts';
import { dataTable, pageLinks, readOnce, searchField, searchForm } from '../lists.ts';
import {
  badge,
  deviceLink,
  labelsOf,
  moment,
  productLink,
  time,
  troubleLine,
  type BadgeKind,
  type Page,
  type View,
} from '../page.ts';
import { formatSpan } from '../text.ts';

const stateTexts: Readonly<Record<ListedState, string>> = {
  online: 'online',
  asleep: 'asleep',
  offline: 'offline',
  never: 'never connected',
};

const stateKinds: Readonly<Record<ListedState, BadgeKind>> = {
  online: 'good',
  asleep: 'calm',
  offline: 'bad',
  never: 'plain',
};

export function openDevices(page: Page, query: URLSearchParams): View {
  const asked = {
    contains: query.get('contains'),
    label: query.get('label'),
    product_id: query.get('product_id'),
    state: query.get('state'),
    after: query.get('after'),
  };
  const { element: results, close } = readOnce(async () => {
    const { devices, next, silent } = await page.client.read<DeviceListJson>('/v1/device/list', asked);
    if (devices.length === 0) page.announce('No device found.');
    const missing = `${silent.join(', ')} did not answer: devices connected there may be missing.`;
    return [...(silent.length === 0 ? [] : [troubleLine(missing)]), ...listOf(devices, next, asked)];
  });
  const form = searchForm('devices', 'Find', [
    ['Id contains', searchField('contains', query)],
    ['Label', searchField('label', query, 'key=value')],
    ['Product', searchField('product_id', query)],
    ['State', stateField(asked.state)],
  ]);
  const add = actionButtons(page, [addDevice(page)], () => undefined);
  return { title: 'Devices', content: el('div', {}, add, form, results), close };
}

function stateField(chosen: string | null): HTMLSelectElement {
  const options = [['', 'any'], ...Object.entries(stateTexts)].map(([value = '', text = '']) =>
    el('option', { value, selected: value === (chosen ?? '') }, text),
  );
  return el('select', { id: 'state' }, ...options);
}

type Asked = Readonly<Record<string, string | null>>;

function listOf(devices: readonly ListedDeviceJson[], next: string | null, asked: Asked): HTMLElement[] {
  const further = devices.length === 0 ? 'None among the first 500: search further' : 'Next page';
  const table = dataTable('Devices found', 'No device found here.', devices, [
    { name: 'Device', cell: (device) => deviceLink(device.device_id) },
    { name: 'State', cell: ({ state }) => badge(stateTexts[state], stateKinds[state]) },
    { name: 'Last seen', cell: lastSeen },
    { name: 'Product', cell: (device) => productLink(device.product_id), isWide: true },
    { name: 'Labels', cell: ({ labels }) => labelsOf(labels), isWide: true },
    { name: 'May log in', cell: mayLogIn, isWide: true },
  ]);
  return [table, pageLinks('devices', asked, next, further)];
}

function lastSeen({ last_seen_at: seenAt }: ListedDeviceJson): Node | string {
  if (seenAt === null) return 'never';
  const ms = seenAt * 1000;
  const age = Date.now() - ms;
  return age < 86_400_000 ? time(ms, `${formatSpan(Math.max(0, age))} ago`) : moment(ms);
}

function mayLogIn({ disabled, expired }: ListedDeviceJson): Node {
  if (disabled) return badge('disabled', 'warn');
  return expired ? badge('expired', 'warn') : badge('yes', 'plain');
}
