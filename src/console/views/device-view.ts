/** One device: its registry entry, connections, past on a time line, and actions. */
import type { CallJson } from '../../gateways/admin/call-routes.ts';
import type { ConnectionStatus, DeviceStatus } from '../../gateways/admin/device-routes.ts';
import { callsTable } from './calls-view.ts';
import { refusedTable } from './refused-view.ts';
import { deviceActions } from './device-actions.ts';
import { el, redraw } from '../dom.ts';
import { dataTable } from '../lists.ts';
import {
  badge,
  facts,
  labelsOf,
  moment,
  poll,
  productLink,
  section,
  time,
  Trouble,
  type Page,
  type View,
} from '../page.ts';
import { sessionReason } from '../past/reasons.ts';
import { formatSpan } from '../text.ts';
import { TimeMachine } from '../past/time-machine-view.ts';

const everyMs = 5000;

export function openDevice(page: Page, query: URLSearchParams): View {
  const deviceId = query.get('id') ?? '';
  const trouble = new Trouble();
  const actions = el('div');
  const record = el('div', {}, el('p', {}, 'Loading …'));
  const connections = el('div', {});
  const refused = el('div', {});
  const calls = el('div', {});
  const machine = new TimeMachine(page, deviceId);
  let offered = '';
  const refresh = async (): Promise<void> => {
    const [status, { calls: live }] = await Promise.all([
      page.client.read<DeviceStatus>('/v1/device/status', { device_id: deviceId }),
      page.client.read<{ readonly calls: readonly CallJson[] }>('/v1/calls', { device_id: deviceId }),
      machine.refresh(),
    ]);
    redraw(record, recordOf(status));
    redraw(connections, connectionsOf(status));
    redraw(
      refused,
      ...(status.refused.length === 0 ? [] : [section('Refused logins', {}, refusedTable(status.refused))]),
    );
    // Buttons stay in place: they are redrawn only if the device or its calls have changed.
    const wanted = JSON.stringify([status.device, live]);
    if (wanted === offered) return;
    offered = wanted;
    redraw(actions, deviceActions(page, status.device, refreshIfOpen, isOpen));
    redraw(calls, ...(live.length === 0 ? [] : [section('Live calls', {}, callsTable(page, live))]));
  };
  const isOpen = (): boolean => actions.isConnected;
  const refreshIfOpen = (): void => {
    if (isOpen()) refresh().catch(() => undefined);
  };
  const stop = poll(everyMs, refresh, trouble.show);
  const content = el(
    'div',
    {},
    trouble.element,
    actions,
    el('div', { class: 'pair' }, section('Record', {}, record), section('Connections', {}, connections)),
    refused,
    calls,
    machine.element,
  );
  return {
    title: deviceId,
    content,
    close: () => {
      stop();
      machine.close();
    },
  };
}

function recordOf({ device }: DeviceStatus): HTMLElement {
  const expires = device.expires_at === null ? 'never' : moment(device.expires_at * 1000);
  const rights = device.disabled
    ? badge('no: it is disabled', 'warn')
    : device.expired
      ? badge('no: it has expired', 'warn')
      : badge('yes', 'good');
  return facts([
    ['Product', productLink(device.product_id)],
    ['May log in', rights],
    ['Expires', expires],
    ['Labels', labelsOf(device.labels)],
  ]);
}

function connectionsOf({ sleep, signal, now_ms: nowMs }: DeviceStatus): HTMLElement {
  const connections = [
    { name: 'module', open: 'asleep', connection: sleep },
    { name: 'controller', open: 'online', connection: signal },
  ];
  const table = dataTable('Connections', 'None.', connections, [
    { name: 'Connection', cell: ({ name }) => name },
    { name: 'State', cell: ({ connection, open }) => stateOf(connection, open) },
    { name: 'Last login', cell: ({ connection }) => momentOf(connection.last_login_at), isWide: true },
    { name: 'Last heartbeat', cell: ({ connection }) => agoOf(connection.last_heartbeat_at, nowMs) },
    { name: 'Node', cell: ({ connection }) => connection.node ?? '–', isWide: true },
  ]);
  const reasons = connections.flatMap(({ name, connection: { reason, last_offline_at: offlineAt } }) => {
    if (reason === null) return [];
    const when = offlineAt === null ? [] : [momentOf(offlineAt), ': '];
    return el('p', { class: 'faint' }, `The ${name} was disconnected `, ...when, `${sessionReason(reason)}.`);
  });
  return el('div', {}, table, ...reasons);
}

function stateOf({ state }: ConnectionStatus, open: string): HTMLElement {
  if (state === 'open') return badge(open, open === 'online' ? 'good' : 'calm');
  if (state === 'lost') return badge('lost with its server', 'bad');
  return state === 'never' ? badge('never connected', 'plain') : badge('not connected', 'plain');
}

function momentOf(seconds: number | null): Node | string {
  return seconds === null ? '–' : moment(seconds * 1000);
}

function agoOf(seconds: number | null, nowMs: number): Node | string {
  if (seconds === null) return '–';
  return time(seconds * 1000, `${formatSpan(Math.max(0, nowMs - seconds * 1000))} ago`);
}
