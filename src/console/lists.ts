/** Parts of views with lists: tables, filter forms, paging, and reading once or repeatedly. */
import { RequestError } from './client.ts';
import { el, redraw } from './dom.ts';
import { facts, linkTo, poll, sentenceOf, Trouble, troubleLine, type View } from './page.ts';

type Cell = Node | string | number;

export interface Column<Item> {
  readonly name: string;
  readonly cell: (item: Item) => Cell;
  /** On a narrow screen the column unfolds below its row. */
  readonly isWide?: boolean;
  readonly isNumber?: boolean;
}

/** `caption`: names the rows, for screen readers only, since the heading shows it. `empty`: replaces a table without rows. */
export function dataTable<Item>(
  caption: string,
  empty: string,
  items: readonly Item[],
  columns: readonly Column<Item>[],
): HTMLElement {
  if (items.length === 0) return el('p', {}, empty);
  const classOf = ({ isWide, isNumber }: Column<Item>): string | null =>
    [isWide === true && 'wide', isNumber === true && 'number'].filter(Boolean).join(' ') || null;
  const head = columns.map((column) => el('th', { scope: 'col', class: classOf(column) }, column.name));
  const rows = items.flatMap((item) => {
    const cells = columns.map((column, at) => {
      const attributes = { class: classOf(column) };
      const cell = column.cell(item);
      return at === 0 ? el('th', { scope: 'row', ...attributes }, cell) : el('td', attributes, cell);
    });
    const row = el('tr', {}, ...cells);
    const folded = columns.filter(({ isWide }) => isWide === true);
    return folded.length === 0 ? [row] : [row, unfolding(item, folded, columns.length - folded.length)];
  });
  return el(
    'div',
    { class: 'table' },
    el(
      'table',
      {},
      el('caption', { class: 'unseen' }, caption),
      el('thead', {}, el('tr', {}, ...head)),
      el('tbody', {}, ...rows),
    ),
  );
}

/** The wide columns of a row, unfolded below it on a narrow screen. */
function unfolding<Item>(item: Item, columns: readonly Column<Item>[], span: number): HTMLElement {
  const values = columns.map(({ name, cell }): readonly [string, Node | string] => {
    const value = cell(item);
    return [name, typeof value === 'number' ? String(value) : value];
  });
  const more = el('details', {}, el('summary', {}, 'More'), facts(values));
  return el('tr', { class: 'unfolding' }, el('td', { colspan: span }, more));
}

function loading(): HTMLElement {
  return el('div', {}, el('p', {}, 'Loading …'));
}

/** A view that reads every `everyMs` and redraws only changed data, so that opened lists and buttons stay; `refresh` reads at once. */
export function polledView<Found>(
  title: string,
  everyMs: number,
  read: (gone?: AbortSignal) => Promise<Found>,
  partsOf: (found: Found, refresh: () => void) => readonly HTMLElement[],
): View {
  const trouble = new Trouble();
  const list = loading();
  let shown = '';
  const refresh = async (gone?: AbortSignal): Promise<void> => {
    const found = await read(gone);
    const now = JSON.stringify(found);
    if (now === shown) return;
    shown = now;
    redraw(list, ...partsOf(found, () => void refresh().catch(() => undefined)));
  };
  const close = poll(everyMs, refresh, trouble.show);
  return { title, content: el('div', {}, trouble.element, list), close };
}

const retryMs = 2000;

/** A place for data that is read once, or for the error; a 503 is retried. */
export function readOnce(read: () => Promise<readonly HTMLElement[]>): {
  readonly element: HTMLElement;
  readonly close: () => void;
} {
  const element = loading();
  let isOver = false;
  const show = (parts: readonly HTMLElement[]): void => {
    if (!isOver) element.replaceChildren(...parts);
  };
  const refresh = (): void => {
    if (isOver) return;
    read().then(show, (error: unknown) => {
      show([troubleLine(sentenceOf(error))]);
      if (error instanceof RequestError && error.status === 503) setTimeout(refresh, retryMs);
    });
  };
  refresh();
  return {
    element,
    close: () => {
      isOver = true;
    },
  };
}

/** Links to the first and the next page. `next`: where the next page begins; null: this is the last. */
export function pageLinks(
  view: string,
  query: Readonly<Record<string, string | null>>,
  next: string | null,
  text = 'Next page',
): HTMLElement {
  const first = el('a', { href: linkTo(view, { ...query, after: null }) }, 'First page');
  const further = el('a', { href: linkTo(view, { ...query, after: next }) }, text);
  return el('p', { class: 'pages' }, query['after'] !== null && first, next !== null && further);
}

export function labelled(text: string, control: HTMLElement): HTMLElement {
  return el('div', {}, el('label', { for: control.id }, text), control);
}

export function searchField(id: string, query: URLSearchParams, placeholder = ''): HTMLInputElement {
  const value = query.get(id) ?? '';
  const attributes = { id, value, placeholder, maxlength: 255, autocomplete: 'off', spellcheck: 'false' };
  return el('input', { type: 'search', ...attributes });
}

/** Opens the view with the form's fields as its query; reloads it if they are unchanged. */
export function searchForm(
  view: string,
  verb: string,
  fields: readonly (readonly [label: string, control: HTMLInputElement | HTMLSelectElement])[],
): HTMLElement {
  const search = (event: Event): void => {
    event.preventDefault();
    const query = Object.fromEntries(fields.map(([, { id, value }]) => [id, value.trim()]));
    const link = linkTo(view, query);
    if (location.pathname + location.hash === link) window.dispatchEvent(new HashChangeEvent('hashchange'));
    else location.assign(link);
  };
  return el(
    'form',
    { class: 'search', role: 'search', submit: search },
    ...fields.map(([label, control]) => labelled(label, control)),
    el('button', { type: 'submit', class: 'main' }, verb),
  );
}
