/** Logins refused since the core's start, the latest first, with reasons, and devices that share an id. */
import type { RefusedAnswer, RefusedLoginJson } from '../../gateways/admin/refused-route.ts';
import { el } from '../dom.ts';
import { dataTable, polledView } from '../lists.ts';
import { badge, deviceLink, moment, type Page, type View } from '../page.ts';

const everyMs = 5000;
const shownMax = 200;

export function openRefused(page: Page): View {
  return polledView(
    'Refused logins',
    everyMs,
    () => page.client.read<RefusedAnswer>('/v1/refused', { limit: shownMax }),
    ({ refused, more }) => [
      refusedTable(refused),
      el('p', { class: 'faint' }, more ? `The latest ${shownMax}; reveille refused prints more.` : ''),
    ],
  );
}

const causes: Readonly<Record<RefusedLoginJson['reason'], string>> = {
  wrong_mac: 'wrong secret',
  unknown: 'not in the registry',
  disabled: 'disabled',
  expired: 'expired',
  busy: 'the listener was full, or the store behind',
  too_fast: 'too many logins',
  conflict: 'two devices use the id',
};

export function refusedTable(refused: readonly RefusedLoginJson[]): HTMLElement {
  return dataTable('Refused logins', 'No login was refused.', refused, [
    { name: 'Device', cell: (row) => deviceLink(row.device_id) },
    {
      name: 'Reason',
      cell: ({ reason }) => badge(causes[reason], reason === 'conflict' ? 'bad' : 'warn'),
    },
    { name: 'Refusals', cell: ({ count }) => count, isNumber: true },
    { name: 'Last refusal', cell: (row) => moment(Date.parse(row.last_at)) },
    { name: 'Connection', cell: ({ connection }) => connection, isWide: true },
    { name: 'Addresses', cell: ({ addresses }) => addresses.toReversed().join(', ') || '–', isWide: true },
  ]);
}
