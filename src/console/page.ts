/** The page as its views have it, and the small parts that views are made of. */
import { withQuery, type Client } from './client.ts';
import { el, freshId, type Attributes } from './dom.ts';
import { formatMoment } from './text.ts';

export interface Page {
  readonly client: Client;
  /** Names the view that is open, where its title is known only later. */
  entitle(title: string): void;
  /** Shows the sentence at the foot of the page, and has screen readers say it. */
  say(text: string, kind?: 'good' | 'bad'): void;
}

export interface View {
  readonly title: string;
  readonly content: HTMLElement;
  /** Ends its timers. */
  close(): void;
}

/** `query`: of its address, behind the name of the view. */
export type OpenView = (page: Page, query: URLSearchParams) => View;

/** The address of a view of the console. */
export function linkTo(view: string, query: Readonly<Record<string, string | null>> = {}): string {
  return withQuery(`/console#/${view}`, query);
}

/** Resolves when the view is open: opening it clears the news. */
export function moveTo(link: string): Promise<unknown> {
  const moved = new Promise((resolve) => window.addEventListener('hashchange', resolve, { once: true }));
  location.assign(link);
  return moved;
}

/** A device by its id, with the address of its view. */
export function deviceLink(id: string): HTMLElement {
  return el('a', { href: linkTo('device', { id }) }, el('bdi', {}, id));
}

/** A product by its id, with the address of its devices. */
export function productLink(id: string): HTMLElement {
  return el('a', { href: linkTo('devices', { product_id: id }) }, el('bdi', {}, id));
}

/** The page of a call is a document of its own, whose policy lets it load media. */
export const callPath = '/watch';

export function linkToCall(session: string): string {
  return withQuery(callPath, { session });
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Runs now and every `everyMs` while the page is seen, one at a time, with a signal that is aborted at the end. `failed` gets the
 * sentence of each failure; null: it works again. Returns the function that ends it.
 */
export function poll(
  everyMs: number,
  run: (gone: AbortSignal) => Promise<void>,
  failed: (sentence: string | null) => void,
): () => void {
  let isRunning = false;
  const over = new AbortController();
  const { signal } = over;
  const look = async (): Promise<void> => {
    if (isRunning || signal.aborted || document.hidden) return;
    isRunning = true;
    const failure = await run(signal).then(() => null, sentenceOf);
    isRunning = false;
    if (!signal.aborted) failed(failure);
  };
  const onSeen = (): void => void look();
  const timer = setInterval(onSeen, everyMs);
  document.addEventListener('visibilitychange', onSeen, { signal });
  void look();
  return () => {
    over.abort();
    clearInterval(timer);
  };
}

/** A line for what goes wrong while a view is open; empty while nothing does. */
export class Trouble {
  readonly element = el('p', { class: 'trouble', role: 'alert', hidden: true });

  readonly show = (sentence: string | null): void => {
    this.element.hidden = sentence === null;
    const text = sentence ?? '';
    if (this.element.textContent !== text) this.element.textContent = text;
  };
}

/** The error, in the place of the view. */
export function troubleLine(sentence: string): HTMLElement {
  return el('p', { class: 'trouble', role: 'alert' }, sentence);
}

/** A part of a view with its heading, by which it is a landmark. */
export function section(
  heading: string,
  attributes: Attributes,
  ...children: readonly (Node | string)[]
): HTMLElement {
  const id = freshId();
  return el('section', { ...attributes, 'aria-labelledby': id }, el('h2', { id }, heading), ...children);
}

/** Labels of a device; a link to the others that have the same. */
export function labelsOf(labels: Readonly<Record<string, string>>): HTMLElement | string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  if (pairs.length === 0) return 'none';
  return el(
    'span',
    { class: 'labels' },
    ...pairs.map((label) => el('a', { href: linkTo('devices', { label }) }, el('bdi', {}, label))),
  );
}

export type BadgeKind = 'good' | 'calm' | 'warn' | 'bad' | 'plain';

export function badge(text: string, kind: BadgeKind): HTMLElement {
  return el('span', { class: `badge ${kind}` }, text);
}

export function time(ms: number, text: string): HTMLElement {
  const iso = new Date(ms).toISOString();
  return el('time', { datetime: iso, title: iso }, text);
}

/** A time of the wall clock in full. */
export function moment(ms: number): HTMLElement {
  return time(ms, formatMoment(ms));
}

/** Names with their values. `kind`: its style. */
export function facts(
  entries: readonly (readonly [name: string, value: Node | string])[],
  kind = 'facts',
): HTMLElement {
  const parts = entries.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)));
  return el('dl', { class: kind }, ...parts);
}

/** One of several, by radio buttons. `chosen`: the index of the one that is on; null: none yet. */
export function choice(
  name: string,
  texts: readonly string[],
  chosen: number | null,
  choose: (index: number) => void,
): HTMLElement {
  const options = texts.map((text, at) =>
    el(
      'label',
      {},
      el('input', { type: 'radio', name, checked: at === chosen, change: () => choose(at) }),
      text,
    ),
  );
  return el('fieldset', { class: 'spans' }, el('legend', {}, 'Shown'), ...options);
}

export function button(
  text: string,
  press: () => void,
  kind: 'plain' | 'danger' = 'plain',
): HTMLButtonElement {
  return el('button', { type: 'button', class: kind, click: press }, text);
}
