/** Changes by an operator: each is asked for once more in a dialog, is carried out by its route, and its result is said. */
import { el, freshId } from './dom.ts';
import { button, sentenceOf, type Page } from './page.ts';

export interface Action {
  /** On the button that opens the dialog and on the one that confirms: a verb. */
  readonly verb: string;
  /** What it is done to, as the heading of the dialog has it. */
  readonly object: string;
  /** What it does, in a sentence or two. */
  readonly meaning: string;
  readonly isDanger?: boolean;
  /** Carries it out; resolves to its result as a sentence. Rejects with a RequestError. */
  run(): Promise<string>;
}

/** Null: a viewer may not do it, and sees no button. The server refuses it as well. */
export function actionButton(page: Page, action: Action): HTMLButtonElement | null {
  if (!page.client.isOperator) return null;
  const opener = button(
    action.verb,
    () => void carryOut(page, action, opener),
    action.isDanger === true ? 'danger' : 'plain',
  );
  opener.setAttribute('aria-label', `${action.verb} ${action.object}`);
  return opener;
}

async function carryOut(page: Page, action: Action, opener: HTMLButtonElement): Promise<void> {
  if (!(await confirmed(action))) return;
  opener.disabled = true;
  page.say(`${action.verb} ${action.object} …`);
  try {
    page.say(await action.run(), 'good');
  } catch (error) {
    page.say(`${action.verb} ${action.object}: ${sentenceOf(error)}`, 'bad');
  } finally {
    opener.disabled = false;
  }
}

function confirmed({ verb, object, meaning, isDanger }: Action): Promise<boolean> {
  return new Promise((resolve) => {
    const heading = freshId();
    const text = freshId();
    let isConfirmed = false;
    const confirm = button(
      verb,
      () => {
        isConfirmed = true;
        dialog.close();
      },
      isDanger === true ? 'danger' : 'plain',
    );
    confirm.classList.add('main');
    const dialog = el(
      'dialog',
      { 'aria-labelledby': heading, 'aria-describedby': text },
      el('h2', { id: heading }, `${verb} `, el('bdi', {}, object), '?'),
      el('p', { id: text }, meaning),
      el(
        'p',
        { class: 'buttons' },
        confirm,
        button('Cancel', () => dialog.close()),
      ),
    );
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(isConfirmed);
    });
    document.body.append(dialog);
    dialog.showModal();
    confirm.focus();
  });
}
