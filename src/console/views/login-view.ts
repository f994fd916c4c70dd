/** The login: exchanges a token for a session; the page does not keep the token. */
import type { Client } from '../client.ts';
import { el } from '../dom.ts';
import { sentenceOf, Trouble, type View } from '../page.ts';

/** `sentence`: why the login is shown; empty at the first visit. */
export function loginView(client: Client, sentence: string, done: () => void): View {
  const trouble = new Trouble();
  const input = el('input', {
    id: 'token',
    type: 'password',
    required: true,
    autocomplete: 'current-password',
    maxlength: 256,
    spellcheck: 'false',
  });
  const submit = el('button', { type: 'submit', class: 'main' }, 'Log in');
  const logIn = async (): Promise<void> => {
    submit.disabled = true;
    try {
      await client.logIn(input.value.trim());
      done();
    } catch (error) {
      trouble.show(sentenceOf(error));
      input.select();
    } finally {
      submit.disabled = false;
      input.value = '';
      input.focus();
    }
  };
  const form = el(
    'form',
    {
      class: 'login',
      submit: (event) => {
        event.preventDefault();
        void logIn();
      },
    },
    el('label', { for: 'token' }, 'Token'),
    input,
    submit,
    trouble.element,
  );
  const content = el(
    'div',
    { class: 'narrow front' },
    el('img', { src: '/console/icon.svg', alt: '', width: 56, height: 56 }),
    el('p', { class: 'motto' }, 'Reveille keeps sleeping doorbells reachable.'),
    el('p', { role: 'status' }, sentence),
    form,
    el(
      'p',
      { class: 'faint' },
      'Use the text of ',
      el('code', {}, 'ops.token'),
      ' in the data directory, or a token of your own: ',
      el('code', {}, 'reveille token create NAME --role operator'),
      '. A token of the role viewer sees everything here and changes nothing.',
    ),
  );
  setTimeout(() => input.focus());
  return { title: 'Log in', content, close: () => undefined };
}
