/**
 * Creates elements with attributes and children. XSS: text from outside (ids of devices, URLs of webhooks) becomes text nodes and
 * attributes; nothing parses HTML.
 */

type Child = Node | string | number | null | false;
/** Null and false omit the attribute; a function is a listener of the event of that name. */
type AttributeValue = string | number | boolean | null | ((event: Event) => void);
export type Attributes = Readonly<Record<string, AttributeValue>>;

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children);
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function filled<Kind extends Element>(
  element: Kind,
  attributes: Attributes,
  children: readonly Child[],
): Kind {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...nodesOf(children));
  return element;
}

function nodesOf(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child) =>
    child === null || child === false ? [] : [typeof child === 'number' ? String(child) : child],
  );
}

/** Skips an unchanged text, to avoid flicker and repeated announcements. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Replaces the children, but keeps unfolded rows open and the focus on the same control, or else moves it to the view. */
export function redraw(place: HTMLElement, ...children: readonly HTMLElement[]): void {
  const opened = new Set([...place.querySelectorAll('details[open]')].map(signOf));
  const active = document.activeElement;
  const focused = place.contains(active) && active !== null ? signOf(active) : null;
  place.replaceChildren(...children);
  for (const details of place.querySelectorAll('details')) details.open = opened.has(signOf(details));
  if (focused === null) return;
  const controls = [...place.querySelectorAll<HTMLElement>('a, button, input, summary')];
  const same = controls.find((control) => signOf(control) === focused);
  (same ?? document.querySelector('main'))?.focus({ preventScroll: true });
}

function signOf(element: Element): string {
  const row = element.closest('tr');
  const head = row?.matches('.unfolding') === true ? row.previousElementSibling : row;
  const label = element.getAttribute('aria-label') ?? (element.matches('details') ? '' : element.textContent);
  return `${head?.querySelector('th')?.innerHTML} ${label}`;
}

/** Code with line break opportunities after dots, underscores and colons. */
export function code(text: string): HTMLElement {
  const parts = text.split(/(?<=[._:/,])/);
  return el('code', {}, ...parts.flatMap((part, at) => (at === 0 ? [part] : [el('wbr'), part])));
}

let lastId = 0;

export function freshId(): string {
  lastId += 1;
  return `n${lastId}`;
}
