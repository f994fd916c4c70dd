/** One call: the phone's picture next to the device's screen, sound, and figures; for an operator, or a viewer with a link. */
import type { CallJson } from '../../gateways/admin/call-routes.ts';
import type { WatchedCallJson } from '../../gateways/console/call-page.ts';
import { CallFigures } from '../call/call-figures.ts';
import { CallPictures } from '../call/call-pictures.ts';
import { CallOver, WatchedCall } from '../call/watched-call.ts';
import { code, el, setText } from '../dom.ts';
import { badge, linkTo, poll, Trouble, type Page, type View } from '../page.ts';
import { callReason } from '../past/reasons.ts';
import { endOf } from './calls-view.ts';

const everyMs = 1000;

/** Without a session in the query, the page is a viewer's, whose link has a ticket. */
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
  const badges = el('span', { class: 'buttons' });
  const actions = el('span', { class: 'buttons' }, pictures.sound);
  const stages = Object.values(pictures.stages).map(({ element }) => element);
  const live = el(
    'div',
    { hidden: true },
    names,
    el('p', { class: 'buttons call' }, badges, actions),
    el('div', { class: 'halves' }, ...stages),
    pictures.audio,
    figures.element,
  );
  const showCall = (shown: CallJson): void => {
    if (!names.hasChildNodes()) {
      page.entitle(`Call of ${shown.device_id}`);
      names.replaceChildren(...namesOf(shown, isViewer));
      const end = isViewer ? null : endOf(page, shown);
      if (end !== null) actions.append(end);
    }
    badges.replaceChildren(
      stateBadge('state', shown.state, shown.state === 'connected'),
      ...(['device', 'bridge'] as const).map((leg) =>
        stateBadge(leg, `${leg} ${shown.legs[leg] ? '' : 'not '}connected`, shown.legs[leg]),
      ),
      stateBadge('way', pictures.way, pictures.way === 'WebRTC'),
    );
  };
  let isOver = false;
  const end = (sentence: string): void => {
    isOver = true;
    stop();
    trouble.show(null);
    setText(news, sentence);
    pictures.close();
    badges.replaceChildren(stateBadge('state', 'ended', false));
    actions.hidden = true;
  };
  const refresh = async (): Promise<void> => {
    try {
      const answer = await call.ask<WatchedCallJson>('GET', '/watch/view');
      if (isOver) return;
      const { call: shown, view = null, end_reason: reason } = answer;
      if (shown === undefined)
        return end(`The call has ended${reason === null ? '' : `: ${callReason(reason)}`}.`);
      live.hidden = false;
      pictures.check(shown.media, view);
      showCall(shown);
      if (view !== null) figures.show(view);
      figures.showDelays(await pictures.delays());
      setText(news, newsOf(shown, view !== null));
    } catch (error) {
      if (!(error instanceof CallOver)) throw error;
      end(error.message);
    }
  };
  const stop = poll(everyMs, refresh, trouble.show);
  const content = el('div', {}, trouble.element, news, live, auditNotice(isViewer));
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

function auditNotice(isViewer: boolean): HTMLElement {
  const [before, behind] = isViewer
    ? ['A link opens this page once: after a reload, you need a new one. An operator makes one with ', '.']
    : [
        'Each opening of this page is recorded in the audit log. For a viewer without an account, ',
        ' prints a one-time link.',
      ];
  return el('p', { class: 'faint' }, before, el('code', {}, 'reveille calls watch SESSION'), behind);
}

function stateBadge(name: string, text: string, isGood: boolean): HTMLElement {
  const shown = badge(text, isGood ? 'good' : 'plain');
  shown.dataset['show'] = name;
  return shown;
}
