/** Devices of the registry by the beginning of their ids, their product and their state, a page at a time. */
import type {
  DeviceListJson,
  ListedDeviceJson,
  ListedState,
} from '../../gateways/admin/device-list-route.ts';
import { el } from '../dom.ts';
import {
  badge,
  dataTable,
  follow,
  labelled,
  linkTo,
  moment,
  sentenceOf,
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

export function stateBadge(state: ListedState): HTMLElement {
  return badge(stateTexts[state], stateKinds[state]);
}

export function openDevices(page: Page, query: URLSearchParams): View {
  const asked = {
    prefix: query.get('prefix'),
    product_id: query.get('product_id'),
    state: query.get('state'),
    after: query.get('after'),
  };
  const results = el('div', { 'aria-busy': 'true' }, el('p', {}, 'Looking …'));
  let isOver = false;
  const look = async (): Promise<void> => {
    try {
      const { devices, next } = await page.client.read<DeviceListJson>('/v1/device/list', asked);
      if (isOver) return;
      results.replaceChildren(...listOf(devices, next, asked));
      if (devices.length === 0) page.say('No device found.');
    } catch (error) {
      if (!isOver) results.replaceChildren(troubleLine(sentenceOf(error)));
    }
    results.removeAttribute('aria-busy');
  };
  void look();
  return {
    title: 'Devices',
    content: el('div', {}, searchForm(query), results),
    close: () => {
      isOver = true;
    },
  };
}

function searchForm(query: URLSearchParams): HTMLElement {
  const prefix = field('prefix', query, 'search');
  const product = field('product_id', query, 'text');
  const state = el(
    'select',
    { id: 'state' },
    ...['', ...Object.keys(stateTexts)].map((value) =>
      el(
        'option',
        { value, selected: value === (query.get('state') ?? '') },
        value === '' ? 'any' : stateTexts[value as ListedState],
      ),
    ),
  );
  const search = (event: Event): void => {
    event.preventDefault();
    follow(
      linkTo('devices', {
        prefix: prefix.value.trim(),
        product_id: product.value.trim(),
        state: state.value,
      }),
    );
  };
  return el(
    'form',
    { class: 'search', role: 'search', submit: search },
    labelled('Id begins with', prefix),
    labelled('Product', product),
    labelled('State', state),
    el('button', { type: 'submit', class: 'main' }, 'Find'),
  );
}

function field(id: string, query: URLSearchParams, type: string): HTMLInputElement {
  const value = query.get(id) ?? '';
  return el('input', { id, type, value, maxlength: 255, autocomplete: 'off', spellcheck: 'false' });
}

const columns = [
  { name: 'Device' },
  { name: 'State' },
  { name: 'Last seen' },
  { name: 'Product', isWide: true },
  { name: 'May log in', isWide: true },
];

type Asked = Readonly<Record<string, string | null>>;

function listOf(devices: readonly ListedDeviceJson[], next: string | null, asked: Asked): HTMLElement[] {
  const rows = devices.map((device) => [
    el('a', { href: linkTo('device', { id: device.device_id }) }, el('bdi', {}, device.device_id)),
    stateBadge(device.state),
    lastSeen(device),
    el('bdi', {}, device.product_id),
    mayLogIn(device),
  ]);
  const more = el(
    'p',
    { class: 'pages' },
    asked['after'] !== null && el('a', { href: linkTo('devices', { ...asked, after: null }) }, 'First page'),
    next !== null &&
      el(
        'a',
        { href: linkTo('devices', { ...asked, after: next }) },
        devices.length === 0 ? 'None among the first thousands: look further' : 'Next page',
      ),
  );
  if (devices.length === 0) return [el('p', {}, 'No device found here.'), more];
  return [dataTable('Devices found', columns, rows), more];
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
