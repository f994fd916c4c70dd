/** The audit log, the latest change first. */
import type { AuditAnswer } from '../../gateways/admin/audit-routes.ts';
import type { AuditLine } from '../../model/audit.ts';
import { code, el } from '../dom.ts';
import { dataTable, readOnce, searchField, searchForm } from '../lists.ts';
import { badge, moment, type BadgeKind, type Page, type View } from '../page.ts';

const shownMax = 200;

export function openAudit(page: Page, query: URLSearchParams): View {
  const { element: list, close } = readOnce(async () => {
    const asked = { limit: shownMax, operator: query.get('operator'), action: query.get('action') };
    const { lines } = await page.client.read<AuditAnswer>('/v1/audit', asked);
    return linesOf(lines.toReversed());
  });
  const form = searchForm('audit', 'Show', [
    ['Operator', searchField('operator', query)],
    ['Action', searchField('action', query, 'device.*')],
  ]);
  return { title: 'Audit', content: el('div', {}, form, list), close };
}

const resultKinds: Readonly<Record<string, BadgeKind>> = {
  ok: 'good',
  refused: 'warn',
  failed: 'bad',
  unknown: 'plain',
};

function linesOf(lines: readonly AuditLine[]): HTMLElement[] {
  return [
    dataTable('Changes', 'No entry.', lines, [
      { name: 'Time', cell: ({ at }) => moment(Date.parse(at)) },
      { name: 'Operator', cell: ({ user, operator }) => el('bdi', {}, user ?? operator) },
      { name: 'Action', cell: ({ action }) => code(action) },
      { name: 'Object', cell: ({ ids }) => el('bdi', {}, describeIds(ids)), isWide: true },
      { name: 'Result', cell: resultOf },
      { name: 'Address', cell: ({ from }) => from, isWide: true },
    ]),
    el('p', { class: 'faint' }, `At most the latest ${shownMax}; reveille audit prints all.`),
  ];
}

function resultOf({ result, reason }: AuditLine): HTMLElement {
  const shown = badge(result, resultKinds[result] ?? 'plain');
  return reason === undefined ? shown : el('span', {}, shown, ` ${reason}`);
}

function describeIds(ids: AuditLine['ids']): string {
  return Object.entries(ids)
    .map(([name, value]) => `${name} ${textOf(value)}`)
    .join(', ');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
