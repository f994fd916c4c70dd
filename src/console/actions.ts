/**
 * Operators' changes. A dialog asks for confirmation and for fields, the action's route performs the change, and the page
 * announces the result; a secret in the result is shown once.
 */
import { el, freshId, setText } from './dom.ts';
import { labelled } from './lists.ts';
import { button, facts, sentenceOf, type Page } from './page.ts';

export interface Field {
  readonly name: string;
  readonly label: string;
  /** Default: one line of text; a list: one of its values. */
  readonly kind?: 'lines' | 'number' | readonly string[];
  readonly value?: string;
  readonly hint?: string;
  readonly isOptional?: boolean;
}

export function optionalField(name: string, label: string, hint: string): Field {
  return { name, label, hint, isOptional: true };
}

export type Values = Readonly<Record<string, string>>;

/** A result with secrets that the server returns only once. */
export interface Disclosure {
  readonly sentence: string;
  readonly secrets: readonly (readonly [name: string, value: string])[];
}

export interface Action {
  /** A verb, the text of the button that opens the dialog and of the one that confirms. */
  readonly verb: string;
  /** The object of the verb, for the heading of the dialog. */
  readonly object: string;
  readonly meaning: string;
  readonly isDanger?: boolean;
  readonly fields?: readonly Field[];
  /** Performs the change; resolves to a sentence about its result. Rejects with an Error whose message is a sentence. */
  run(values: Values): Promise<string | Disclosure>;
}

/** Null for a viewer, who sees no button; the server refuses viewers as well. */
export function actionButton(page: Page, action: Action): HTMLButtonElement | null {
  if (!page.client.isOperator) return null;
  const opener = button(action.verb, () => void carryOut(page, action), kindOf(action));
  opener.setAttribute('aria-label', `${action.verb} ${action.object}`);
  return opener;
}

/** `changed`: called after each action, successful or not. Empty for a viewer. */
export function actionButtons(page: Page, actions: readonly Action[], changed: () => void): HTMLElement {
  const buttons = actions.flatMap((action) => {
    const run = (values: Values): ReturnType<Action['run']> => action.run(values).finally(changed);
    return actionButton(page, { ...action, run }) ?? [];
  });
  return el('p', { class: 'buttons', hidden: buttons.length === 0 }, ...buttons);
}

function kindOf({ isDanger }: Action): 'plain' | 'danger' {
  return isDanger === true ? 'danger' : 'plain';
}

async function carryOut(page: Page, action: Action): Promise<void> {
  const dialog = new ActionDialog(action);
  let result: string | Disclosure | null = null;
  try {
    // After a refusal, an action with fields reopens the dialog with the typed values and the reason.
    for (let values = await dialog.ask(); values !== null; values = await dialog.ask()) {
      page.announce(`${action.verb} ${action.object} …`);
      try {
        result = await action.run(values);
        break;
      } catch (error) {
        page.announce(`${action.verb} ${action.object}: ${sentenceOf(error)}`, 'bad');
        if (action.fields === undefined) break;
        dialog.refuse(sentenceOf(error));
      }
    }
  } finally {
    dialog.remove();
  }
  if (result !== null) page.announce(typeof result === 'string' ? result : result.sentence, 'good');
  if (result !== null && typeof result !== 'string') await disclose(result);
  // The row of the focused button may have been redrawn.
  if (document.activeElement === document.body)
    document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
}

class ActionDialog {
  readonly #dialog: HTMLDialogElement;
  readonly #trouble = el('p', { class: 'trouble', role: 'alert', hidden: true });
  readonly #controls: readonly (readonly [field: Field, control: Control])[];
  #isConfirmed = false;

  constructor(action: Action) {
    const { verb, object, meaning, fields = [] } = action;
    this.#controls = fields.map((field) => [field, controlOf(field)]);
    const confirm = el('button', { type: 'submit', class: `main ${kindOf(action)}` }, verb);
    const form = el(
      'form',
      { class: 'fields', submit: (event) => this.#confirm(event) },
      ...this.#controls.map(([{ label, hint, isOptional }, control]) => {
        const part = labelled(isOptional === true ? `${label} (optional)` : label, control);
        if (hint !== undefined) part.append(el('small', { class: 'faint' }, hint));
        return part;
      }),
      this.#trouble,
      el(
        'p',
        { class: 'buttons' },
        confirm,
        button('Cancel', () => this.#dialog.close()),
      ),
    );
    this.#dialog = dialogOf([`${verb} `, el('bdi', {}, object), '?'], meaning, form);
    document.body.append(this.#dialog);
  }

  async ask(): Promise<Values | null> {
    this.#isConfirmed = false;
    this.#dialog.showModal();
    (this.#controls[0]?.[1] ?? this.#dialog.querySelector<HTMLElement>('.main'))?.focus();
    await new Promise((resolve) => this.#dialog.addEventListener('close', resolve, { once: true }));
    if (!this.#isConfirmed) return null;
    return Object.fromEntries(this.#controls.map(([{ name }, control]) => [name, control.value.trim()]));
  }

  refuse(sentence: string): void {
    setText(this.#trouble, sentence);
    this.#trouble.hidden = false;
  }

  remove(): void {
    this.#dialog.remove();
  }

  #confirm(event: Event): void {
    event.preventDefault();
    this.#isConfirmed = true;
    this.#dialog.close();
  }
}

function dialogOf(
  heading: readonly (Node | string)[],
  meaning: string,
  rest: HTMLElement,
): HTMLDialogElement {
  const [headingId, textId] = [freshId(), freshId()];
  return el(
    'dialog',
    { 'aria-labelledby': headingId, 'aria-describedby': textId },
    el('h2', { id: headingId }, ...heading),
    el('p', { id: textId }, meaning),
    rest,
  );
}

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

function controlOf({ name, kind, value = '', isOptional }: Field): Control {
  const attributes = { id: freshId(), name, required: isOptional !== true, autocomplete: 'off' };
  if (kind === 'lines') return el('textarea', { ...attributes, rows: 4, spellcheck: 'false' }, value);
  if (typeof kind === 'object')
    return el(
      'select',
      attributes,
      ...kind.map((one) => el('option', { value: one, selected: one === value }, one)),
    );
  return el('input', { ...attributes, type: kind ?? 'text', value, spellcheck: 'false', min: 0 });
}

/** Shows the secrets as text that can be selected, and copied if the browser permits it. Resolves when closed. */
async function disclose({ sentence, secrets }: Disclosure): Promise<void> {
  const shown = secrets.map(([name, value]): readonly [string, Node] => {
    const copy = button(
      'Copy',
      () => void navigator.clipboard.writeText(value).then(() => setText(copy, 'Copied')),
    );
    copy.setAttribute('aria-label', `Copy ${name}`);
    copy.hidden = !window.isSecureContext;
    return [name, el('span', { class: 'buttons' }, el('code', { class: 'secret' }, value), copy)];
  });
  const close = button('Close', () => dialog.close());
  const meaning = 'This is shown once: save it now. The server does not show it again.';
  const rest = el('div', {}, facts(shown), el('p', { class: 'buttons' }, close));
  const dialog = dialogOf([sentence], meaning, rest);
  document.body.append(dialog);
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
  dialog.remove();
}
