/** The audit log: who changed what, when and how it ended, the latest first. */
import type { AuditAnswer } from '../../gateways/admin/audit-routes.ts';
import type { AuditLine } from '../../model/audit.ts';
import { code, el } from '../dom.ts';
import {
  badge,
  dataTable,
  fill,
  follow,
  labelled,
  linkTo,
  moment,
  type BadgeKind,
  type Page,
  type View,
} from '../page.ts';

const shownMax = 200;

export function openAudit(page: Page, query: URLSearchParams): View {
  const operator = query.get('operator') ?? '';
  const action = query.get('action') ?? '';
  const list = el('div', {}, el('p', {}, 'Looking …'));
  const close = fill(list, async () => {
    const asked = { limit: shownMax, operator, action };
    const { lines } = await page.client.read<AuditAnswer>('/v1/audit', asked);
    return [linesTable(lines.toReversed())];
  });
  return { title: 'Audit', content: el('div', {}, filterForm(operator, action), list), close };
}

function filterForm(operator: string, action: string): HTMLElement {
  const who = el('input', { id: 'operator', value: operator, autocomplete: 'off' });
  const what = el('input', { id: 'action', value: action, autocomplete: 'off', placeholder: 'device.*' });
  const filter = (event: Event): void => {
    event.preventDefault();
    follow(linkTo('audit', { operator: who.value.trim(), action: what.value.trim() }));
  };
  return el(
    'form',
    { class: 'search', role: 'search', submit: filter },
    labelled('Operator', who),
    labelled('Action', what),
    el('button', { type: 'submit', class: 'main' }, 'Show'),
  );
}

const columns = [
  { name: 'When' },
  { name: 'Who' },
  { name: 'Action' },
  { name: 'What', isWide: true },
  { name: 'Result' },
  { name: 'From', isWide: true },
];

const resultKinds: Readonly<Record<string, BadgeKind>> = {
  ok: 'good',
  refused: 'warn',
  failed: 'bad',
  unknown: 'plain',
};

function linesTable(lines: readonly AuditLine[]): HTMLElement {
  if (lines.length === 0) return el('p', {}, 'No line.');
  const rows = lines.map((line) => {
    const result = badge(line.result, resultKinds[line.result] ?? 'plain');
    return [
      moment(Date.parse(line.at)),
      el('bdi', {}, line.user ?? line.operator),
      code(line.action),
      el(
        'bdi',
        {},
        Object.entries(line.ids)
          .map(([name, value]) => `${name} ${textOf(value)}`)
          .join(', '),
      ),
      line.reason === undefined ? result : el('span', {}, result, ` ${line.reason}`),
      line.from,
    ];
  });
  return el(
    'div',
    {},
    dataTable('Changes', columns, rows),
    el('p', { class: 'faint' }, `The latest ${shownMax} at most; reveille audit has all that is kept.`),
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
