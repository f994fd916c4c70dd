/** The page's interface for views, and small parts of views. */
import { withQuery, type Client } from './client.ts';
import { el, freshId, type Attributes, setText } from './dom.ts';
import { formatMoment } from './text.ts';

export interface Page {
  readonly client: Client;
  /** Sets the title of the open view, if it is known only later. */
  entitle(title: string): void;
  /** Shows the sentence at the foot of the page, where screen readers announce it. */
  announce(text: string, kind?: 'good' | 'bad'): void;
}

export interface View {
  readonly title: string;
  readonly content: HTMLElement;
  close(): void;
}

/** `query`: from the address, after the name of the view. */
export type OpenView = (page: Page, query: URLSearchParams) => View;

export function linkTo(view: string, query: Readonly<Record<string, string | null>> = {}): string {
  return withQuery(`/console#/${view}`, query);
}

/** Resolves when the view is open. Opening it clears the announcement. */
export function moveTo(link: string): Promise<unknown> {
  const moved = new Promise((resolve) => window.addEventListener('hashchange', resolve, { once: true }));
  location.assign(link);
  return moved;
}

export function deviceLink(id: string): HTMLElement {
  return el('a', { href: linkTo('device', { id }) }, el('bdi', {}, id));
}

export function productLink(id: string): HTMLElement {
  return el('a', { href: linkTo('devices', { product_id: id }) }, el('bdi', {}, id));
}

/** The page of a call is a document of its own, since its content security policy allows media. */
export const callPath = '/watch';

export function linkToCall(session: string): string {
  return withQuery(callPath, { session });
}

export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Runs now and every `everyMs` while the page is visible, one run at a time, with a signal that is aborted at the end. `failed`
 * receives each failure as a sentence, and null after recovery. Returns a function that stops it.
 */
export function poll(
  everyMs: number,
  run: (gone: AbortSignal) => Promise<void>,
  failed: (sentence: string | null) => void,
): () => void {
  let isRunning = false;
  const over = new AbortController();
  const { signal } = over;
  const runOnce = async (): Promise<void> => {
    if (isRunning || signal.aborted || document.hidden) return;
    isRunning = true;
    const failure = await run(signal).then(() => null, sentenceOf);
    isRunning = false;
    if (!signal.aborted) failed(failure);
  };
  const onSeen = (): void => void runOnce();
  const timer = setInterval(onSeen, everyMs);
  document.addEventListener('visibilitychange', onSeen, { signal });
  void runOnce();
  return () => {
    over.abort();
    clearInterval(timer);
  };
}

export class Trouble {
  readonly element = el('p', { class: 'trouble', role: 'alert', hidden: true });

  readonly show = (sentence: string | null): void => {
    this.element.hidden = sentence === null;
    setText(this.element, sentence ?? '');
  };
}

export function troubleLine(sentence: string): HTMLElement {
  return el('p', { class: 'trouble', role: 'alert' }, sentence);
}

export function section(
  heading: string,
  attributes: Attributes,
  ...children: readonly (Node | string)[]
): HTMLElement {
  const id = freshId();
  return el('section', { ...attributes, 'aria-labelledby': id }, el('h2', { id }, heading), ...children);
}

/** The labels of a device, each linked to the devices with the same label. */
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

export function moment(ms: number): HTMLElement {
  return time(ms, formatMoment(ms));
}

/** Names with values. `kind`: the CSS class. */
export function facts(
  entries: readonly (readonly [name: string, value: Node | string])[],
  kind = 'facts',
): HTMLElement {
  const parts = entries.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)));
  return el('dl', { class: kind }, ...parts);
}

/** A choice by radio buttons. `chosen`: the selected index; null: none. */
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
