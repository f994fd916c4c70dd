/** Live calls: their state and legs, the page that shows one, and ending it. */
import type { CallJson, MediaProcessJson } from '../../gateways/admin/call-routes.ts';
import { actionButton } from '../actions.ts';
import { el } from '../dom.ts';
import { badge, button, dataTable, linkTo, poll, time, Trouble, type Page, type View } from '../page.ts';
import { formatMoment, plural } from '../text.ts';

const everyMs = 5000;
const shownMax = 200;

interface Capacity {
  readonly processes: readonly MediaProcessJson[];
  readonly room: number;
}

export function openCalls(page: Page): View {
  const trouble = new Trouble();
  const capacity = el('p', {});
  const list = el('div', {}, el('p', {}, 'Looking …'));
  let shown = '';
  const look = async (): Promise<void> => {
    const [{ calls, more }, { processes, room }] = await Promise.all([
      page.client.read<{ readonly calls: readonly CallJson[]; readonly more: boolean }>('/v1/calls', {
        limit: shownMax,
      }),
      page.client.read<Capacity>('/v1/calls/capacity'),
    ]);
    capacity.textContent =
      processes.length === 0
        ? 'No media process is connected: calls carry no pictures.'
        : `Room for ${plural(room, 'more call')} in ${plural(processes.length, 'media process', 'media processes')}.`;
    const now = JSON.stringify([calls, more]);
    if (now === shown) return;
    shown = now;
    const rest = more ? [el('p', { class: 'faint' }, `These are ${shownMax}; there are more.`)] : [];
    list.replaceChildren(
      ...(calls.length === 0 ? [el('p', {}, 'No live call.')] : [callsTable(page, calls), ...rest]),
    );
  };
  const stop = poll(everyMs, look, trouble.show);
  return { title: 'Calls', content: el('div', {}, trouble.element, capacity, list), close: stop };
}

const columns = [
  { name: 'Device' },
  { name: 'State' },
  { name: 'Since', isWide: true },
  { name: 'Legs', isWide: true },
  { name: 'What to do' },
];

export function callsTable(page: Page, calls: readonly CallJson[]): HTMLElement {
  const rows = calls.map((call) => {
    const createdMs = Date.parse(call.created_at);
    return [
      el('a', { href: linkTo('device', { id: call.device_id }) }, el('bdi', {}, call.device_id)),
      el('span', {}, badge(call.state, call.state === 'connected' ? 'good' : 'calm'), waits(call)),
      time(createdMs, formatMoment(createdMs)),
      legsOf(call),
      el('span', { class: 'buttons' }, ...callActions(page, call)),
    ];
  });
  return dataTable('Live calls', columns, rows);
}

function waits({ waits_for: waitsFor }: CallJson): string {
  return waitsFor === null
    ? ''
    : ` waits for ${waitsFor === 'bridge' ? 'a bridge' : waitsFor === 'load' ? 'load to fall' : 'a decoder'}`;
}

function legsOf({ legs }: CallJson): string {
  const there = [...(legs.device ? ['device'] : []), ...(legs.bridge ? ['bridge'] : [])];
  return there.length === 0 ? 'none yet' : there.join(', ');
}

function callActions(page: Page, { session, device_id: deviceId }: CallJson): HTMLElement[] {
  const object = `the call of ${deviceId}`;
  const watch = actionButton(page, {
    verb: 'Watch',
    object,
    meaning:
      'It is recorded in the audit log that you watched it. You get a link that opens once, within a minute.',
    run: async () => {
      const { url } = await page.client.change<{ readonly url: string }>('/v1/calls/watch', { session });
      showLink(url);
      return 'The link is there.';
    },
  });
  const end = actionButton(page, {
    verb: 'End',
    object,
    meaning: 'The call ends now for the device and the phone, as cancelled.',
    isDanger: true,
    run: async () => {
      await page.client.change('/v1/calls/end', { session });
      return `The call of ${deviceId} has ended.`;
    },
  });
  return [watch, end].filter((each) => each !== null);
}

/** The page is this listener's own: it is opened by the name by which the console was, whatever the server calls itself. */
function showLink(url: string): void {
  const { pathname, search } = new URL(url);
  const link = el(
    'a',
    {
      href: `${pathname}${search}`,
      target: '_blank',
      rel: 'noopener noreferrer',
      click: () => dialog.close(),
    },
    'Open the page of the call',
  );
  const dialog = el(
    'dialog',
    { 'aria-label': 'Watch the call' },
    el('p', {}, link),
    el(
      'p',
      { class: 'buttons' },
      button('Cancel', () => dialog.close()),
    ),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
