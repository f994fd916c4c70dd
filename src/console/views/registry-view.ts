/** The registry: one kind of entry at a time, with paging and actions. */
import type { RegistryPage } from '../../gateways/admin/registry-lists.ts';
import type { OpsTokenListing } from '../../gateways/admin/secret-routes.ts';
import { actionButtons } from '../actions.ts';
import { el } from '../dom.ts';
import { dataTable, pageLinks, polledView } from '../lists.ts';
import { linkTo, type Page, type View } from '../page.ts';
import type { Kind } from './entry-kind.ts';
import { kinds } from './registry-kinds.ts';

const everyMs = 10_000;
const pageEntries = 100;
const firstKind = 'applications';

export function openRegistry(page: Page, query: URLSearchParams): View {
  const asked = query.get('kind') ?? firstKind;
  const name = Object.hasOwn(kinds, asked) ? asked : firstKind;
  const kind = kinds[name];
  if (kind === undefined) throw new Error(`no kind ${name}`);
  const after = query.get('after');
  const read = (): Promise<RegistryPage> => readEntries(page, kind, after);
  const list = polledView(kind.title, everyMs, read, ({ entries, next }, refresh) => [
    actionButtons(page, [kind.add(page.client)], refresh),
    tableOf(page, kind, entries, refresh),
    pageLinks('registry', { kind: name, after }, next),
  ]);
  const tabs = Object.entries(kinds).map(([path, { title }]) => {
    const isHere = path === name ? 'page' : null;
    return el('li', {}, el('a', { href: linkTo('registry', { kind: path }), 'aria-current': isHere }, title));
  });
  const content = el(
    'div',
    {},
    el('nav', { class: 'tabs', 'aria-label': 'Kinds of entries' }, el('ul', {}, ...tabs)),
    el('p', { class: 'faint' }, kind.meaning),
    list.content,
  );
  return { ...list, content };
}

async function readEntries({ client }: Page, { kind }: Kind, after: string | null): Promise<RegistryPage> {
  if (kind !== null)
    return client.read<RegistryPage>('/v1/registry/list', { kind, after, limit: pageEntries });
  const { tokens } = await client.read<OpsTokenListing>('/v1/ops-tokens');
  return { entries: tokens, next: null };
}

function tableOf(
  page: Page,
  { title, columns, actions }: Kind,
  entries: RegistryPage['entries'],
  changed: () => void,
): HTMLElement {
  const acting = {
    name: 'Actions',
    cell: (entry: RegistryPage['entries'][number]) =>
      actionButtons(page, actions(entry, page.client), changed),
  };
  return dataTable(title, 'There is none.', entries, page.client.isOperator ? [...columns, acting] : columns);
}
