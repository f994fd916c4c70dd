/** One call: the phone's picture beside the device's screen, with sound, and its figures; for an operator, or a viewer with a link. */
import type { CallJson } from '../../gateways/admin/call-routes.ts';
import type { WatchedCallJson } from '../../gateways/console/call-page.ts';
import { CallFigures } from '../call/call-figures.ts';
import { CallPictures } from '../call/call-pictures.ts';
import { CallOver, WatchedCall } from '../call/watched-call.ts';
import { code, el, setText } from '../dom.ts';
import { linkTo, poll, Trouble, type Page, type View } from '../page.ts';
import { callReason } from '../past/reasons.ts';
import { endOf } from './calls-view.ts';

const everyMs = 1000;

/** Without a session in the query: for a viewer, whose link has a ticket. */
export function openCall(page: Page, query: URLSearchParams): View {
  const session = query.get('session');
  const isViewer = session === null;
  const call = new WatchedCall(
    isViewer
      ? { kind: 'viewer', ticket: query.get('ticket') }
      : { kind: 'operator', client: page.client, session },
  );
  const pictures = new CallPictures(call);
  const figures = new CallFigures();
  const trouble = new Trouble();
  const news = el('p', { class: 'notice', role: 'status', 'data-show': 'news' }, 'Opening the call …');
  const names = el('p', { class: 'faint' });
  const badges = new Badges();
  const actions = el('span', { class: 'buttons' }, pictures.sound);
  const stages = Object.values(pictures.stages).map(({ element }) => element);
  const live = el(
    'div',
    { hidden: true },
    names,
    el('p', { class: 'buttons call' }, badges.element, actions),
    el('div', { class: 'halves' }, ...stages),
    pictures.audio,
    figures.element,
  );
  const showCall = (shown: CallJson): void => {
    if (live.hidden) {
      live.hidden = false;
      page.entitle(`Call of ${shown.device_id}`);
      names.replaceChildren(...namesOf(shown, isViewer));
      const end = isViewer ? null : endOf(page, shown);
      if (end !== null) actions.append(end);
    }
    badges.show('state', shown.state, shown.state === 'connected');
    badges.show('device', shown.legs.device ? 'device connected' : 'device not connected', shown.legs.device);
    badges.show('bridge', shown.legs.bridge ? 'bridge connected' : 'bridge not connected', shown.legs.bridge);
  };
  let isOver = false;
  const end = (sentence: string): void => {
    isOver = true;
    stop();
    trouble.show(null);
    setText(news, sentence);
    pictures.close();
    badges.end();
    actions.hidden = true;
  };
  const look = async (): Promise<void> => {
    try {
      const answer = await call.ask<WatchedCallJson>('GET', '/watch/view');
      if (isOver) return;
      const { call: shown, view = null, end_reason: reason } = answer;
      if (shown === undefined)
        return end(`The call has ended${reason === null ? '' : `: ${callReason(reason)}`}.`);
      showCall(shown);
      pictures.check(shown.media, view);
      if (view !== null) figures.show(view);
      badges.show('way', pictures.way, pictures.way === 'WebRTC');
      figures.showDelays(await pictures.delays());
      setText(news, newsOf(shown, view !== null));
    } catch (error) {
      if (!(error instanceof CallOver)) throw error;
      end(error.message);
    }
  };
  const stop = poll(everyMs, look, trouble.show);
  const content = el('div', {}, trouble.element, news, live, isViewer ? viewerNote() : operatorNote());
  return {
    title: 'Call',
    content,
    close: () => {
      isOver = true;
      stop();
      pictures.close();
    },
  };
}

function newsOf({ media }: CallJson, isKnown: boolean): string {
  if (!isKnown) return 'No leg of the call has connected to the media process yet.';
  return media.no_video ? 'This call is audio only: there are no pictures.' : '';
}

function namesOf(
  { device_id: deviceId, session, room_id: room }: CallJson,
  isViewer: boolean,
): (Node | string)[] {
  const device = isViewer ? [] : [el('a', { href: linkTo('device', { id: deviceId }) }, 'The device'), ', '];
  return [...device, 'session ', code(session), ', room ', el('bdi', {}, code(room))];
}

function viewerNote(): HTMLElement {
  return el(
    'p',
    { class: 'faint' },
    'A link opens this page once: after a reload, or in another window, it takes another link. An operator gets one by ',
    el('code', {}, 'reveille calls watch SESSION'),
    '.',
  );
}

function operatorNote(): HTMLElement {
  return el(
    'p',
    { class: 'faint' },
    'Each time that this page opens a call is in the audit log. For somebody without an account: ',
    el('code', {}, 'reveille calls watch SESSION'),
    ' prints a link that opens once.',
  );
}

/** The state of the call, its legs, and the way by which the page has it. */
class Badges {
  readonly #badges = new Map<string, HTMLElement>();
  readonly element = el('span', { class: 'buttons' });

  show(name: string, text: string, isGood: boolean): void {
    let shown = this.#badges.get(name);
    if (shown === undefined) {
      shown = el('span', { 'data-show': name });
      this.#badges.set(name, shown);
      this.element.append(shown);
    }
    shown.className = `badge ${isGood ? 'good' : 'plain'}`;
    setText(shown, text);
  }

  end(): void {
    this.element.replaceChildren();
    this.#badges.clear();
    this.show('state', 'ended', false);
  }
}
